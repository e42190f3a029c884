// Runs a script under Node 24, where SQLite is built in: `node scripts/with-node24.mjs <script> [arguments]`.
// An older Node fetches Node 24 from npm once and keeps it in node_modules/.cache.
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const WANTED_MAJOR = 24
const cache = fileURLToPath(new URL('../node_modules/.cache/pawl-node24', import.meta.url))
const cachedNode = join(cache, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')

function isNewEnough(version) {
  return Number(version.replace(/^v/, '').split('.')[0]) >= WANTED_MAJOR
}

function isInstalled() {
  const { status, stdout } = spawnSync(cachedNode, ['--version'], { encoding: 'utf8' })
  return status === 0 && isNewEnough(stdout)
}

function install() {
  console.error(`Installing Node ${WANTED_MAJOR} from npm into node_modules/.cache/pawl-node24 (once).`)
  mkdirSync(cache, { recursive: true })
  // Its own package.json keeps npm from climbing up and changing this project. The package `node` fetches the binary of
  // this platform in its install script, which newer npm wants allowed by name.
  writeFileSync(join(cache, 'package.json'), '{ "private": true, "allowScripts": { "node": true } }\n')
  const quick = ['--no-audit', '--no-fund', '--fetch-retries=1', '--prefer-offline']
  const args = ['install', '--no-save', ...quick, '--prefix', cache, `node@${WANTED_MAJOR}`]
  const options = { cwd: cache, stdio: ['ignore', 2, 2], shell: process.platform === 'win32' }
  return spawnSync('npm', args, options).status === 0 && isInstalled()
}

function findNode() {
  if (isNewEnough(process.version)) return process.execPath
  if (isInstalled() || install()) return cachedNode
  console.error(
    `Could not install Node ${WANTED_MAJOR}: npm's message is above. Check the network and the npm registry, ` +
      `or run the same command with a Node ${WANTED_MAJOR} of your own.`,
  )
  process.exit(1)
}

const args = process.argv.slice(2)
if (args.length === 0) {
  console.error('Usage: node scripts/with-node24.mjs <script> [arguments]')
  process.exit(2)
}

const { status, signal } = spawnSync(findNode(), args, { stdio: 'inherit' })
if (signal) console.error(`The script was ended by ${signal}.`)
process.exitCode = status ?? 1
