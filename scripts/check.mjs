// `npm run check`: everything that must hold besides the tests. It needs no network.
// `npm run check -- types lint` runs only the named steps.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const env = { ...process.env, PATH: `${join(root, 'node_modules', '.bin')}${delimiter}${process.env.PATH}` }

// knip does not see the tools started here: list each one under ignoreDependencies in knip.json.
const steps = [
  { name: 'format', title: 'Format and import order', run: () => command('biome', 'check', '.') },
  {
    name: 'types',
    title: 'Types',
    run: () => command('tsc', '-p', 'tsconfig.json') && command('tsc', '-p', 'dashboard'),
  },
  { name: 'lint', title: 'Lint', run: () => command('oxlint', '--type-aware', '--deny-warnings') },
  // The build's tsconfig tells knip that dist/ is made from src/, so it finds the entry points in package.json.
  { name: 'unused', title: 'Unused code and dependencies', run: () => command('knip', '-t', 'tsconfig.build.json') },
  { name: 'architecture', title: 'Architecture', run: checkArchitecture },
  { name: 'package', title: 'Package exports', run: checkPackage },
]

function command(name, ...args) {
  const result = spawnSync(name, args, { cwd: root, env, stdio: 'inherit', shell: process.platform === 'win32' })
  if (result.error) console.error(`Could not run ${name}: ${result.error.message}. Is \`npm ci\` done?`)
  return result.status === 0
}

// Only vitest's own reporter, so that the closing line of a test run stays the word of `npm test`.
function checkArchitecture() {
  return command('vitest', 'run', '--reporter=default', 'test/architecture.test.ts')
}

// Checks the tarball that users will get, made outside the repository so that nothing is left behind.
function checkPackage() {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-pack-'))
  try {
    if (!command('npm', 'run', '--silent', 'build')) return false
    if (!command('npm', 'pack', '--silent', '--ignore-scripts', '--pack-destination', folder)) return false
    const tarball = join(folder, readdirSync(folder)[0])
    const published = command('publint', 'run', tarball, '--strict')
    const typed = command('attw', tarball, '--profile', 'esm-only')
    return published && typed
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function chooseSteps(names) {
  const unknown = names.filter((name) => !steps.some((step) => step.name === name))
  if (unknown.length > 0) {
    console.error(`Unknown step: ${unknown.join(', ')}. Steps are: ${steps.map((step) => step.name).join(', ')}.`)
    process.exit(2)
  }
  return names.length === 0 ? steps : steps.filter((step) => names.includes(step.name))
}

const results = chooseSteps(process.argv.slice(2)).map((step) => {
  console.log(`\n=== ${step.title} (${step.name})`)
  const startedAt = performance.now()
  const ok = step.run()
  return { ...step, ok, seconds: ((performance.now() - startedAt) / 1000).toFixed(1) }
})

console.log('\n=== Summary')
for (const { ok, title, name, seconds } of results)
  console.log(`${ok ? 'ok    ' : 'FAILED'} ${title} (${name}), ${seconds} s`)

const failed = results.filter((result) => !result.ok)
console.log(failed.length === 0 ? '\nAll checks passed.' : `\n${failed.length} of ${results.length} checks failed.`)
process.exitCode = failed.length === 0 ? 0 : 1
