// The CLI as a person has it: real processes, pipes and signals, with a configuration in TypeScript.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import { newFolder, type Transcript, writeInto } from './cli-stage.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const MAIN = join(root, 'dist/cli/main.js')

const CONFIG = `
import { defineConfig, defineJob } from 'pawl'
import { z } from 'zod'

const story = defineJob({
  type: 'story',
  params: z.object({ genre: z.string(), length: z.number().int().default(100) }),
  run: ({ params }): { words: number } => ({ words: params.length }),
})

export default defineConfig({ jobs: [story], resources: { pen: 1 } })
`

/** A project as \`npm install pawl\` leaves it. */
function newProject(): string {
  const folder = newFolder()
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules', 'pawl'))
  symlinkSync(join(root, 'node_modules', 'zod'), join(folder, 'node_modules', 'zod'))
  writeInto(folder, 'pawl.config.ts', CONFIG)
  return folder
}

function pawl(folder: string, ...argv: string[]): Promise<Transcript> {
  return new Promise((done) => {
    execFile(
      process.execPath,
      [MAIN, ...argv],
      { cwd: folder, env: cleanEnv(), maxBuffer: 100_000_000 },
      (error, stdout, stderr) => {
        done({ exitCode: error === null ? 0 : Number(error.code), stdout, stderr })
      },
    )
  })
}

function cleanEnv(): NodeJS.ProcessEnv {
  const { PAWL_SERVER: _server, PAWL_STORE: _store, PAWL_API_KEY: _key, ...env } = process.env
  return { ...env, NO_COLOR: '1' }
}

/** Starts a command, and ends it with the test whatever happens. */
function start(folder: string, ...argv: string[]): ChildProcess {
  const child = spawn(process.execPath, [MAIN, ...argv], { cwd: folder, env: cleanEnv() })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

function exitOf(child: ChildProcess): Promise<number | null> {
  return new Promise((exited) => child.on('close', exited))
}

describe('a project with a configuration in TypeScript', () => {
  test('knows its types and their params, without a worker', async () => {
    const folder = newProject()
    const types = async () =>
      JSON.parse((await pawl(folder, 'types', '--json')).stdout) as { items: { type: string }[] }
    const made = await pawl(folder, 'enqueue', 'story', '-p', 'genre=gothic', '--json')
    expect(made).toMatchObject({ exitCode: 0, stderr: '' })
    expect(JSON.parse(made.stdout)).toMatchObject({ params: { genre: 'gothic', length: 100 } })
    expect((await types()).items.map(({ type }) => type)).toEqual(['story'])
    const refused = await pawl(folder, 'enqueue', 'story', '-p', 'genre=1')
    expect(refused.exitCode).toBe(2)
    expect(refused.stderr).toContain('params.genre')
  })

  test('every exit code is what the documentation says', async () => {
    const folder = newProject()
    const nobody = '01975bb0-7c1e-7d6a-9d0c-3f6f8e0f9a41'
    expect((await pawl(folder, 'jobs', 'list')).exitCode).toBe(1)
    const job = JSON.parse((await pawl(folder, 'enqueue', 'story', '-p', 'genre=a', '--json')).stdout) as {
      job_id: string
    }
    expect((await pawl(folder, 'jobs', 'list')).exitCode).toBe(0)
    expect((await pawl(folder, 'jobs', 'list', '--nonsense')).exitCode).toBe(2)
    expect((await pawl(folder, 'jobs', 'list', '--limit', '1000')).exitCode).toBe(2)
    expect((await pawl(folder, 'jobs', 'show', nobody)).exitCode).toBe(4)
    await pawl(folder, 'jobs', 'cancel', job.job_id)
    expect((await pawl(folder, 'jobs', 'edit', job.job_id, '--priority', '1')).exitCode).toBe(5)
    expect((await pawl(folder, 'jobs', 'list', '--server', 'http://127.0.0.1:9')).exitCode).toBe(1)
  })

  test('what only reads leaves the folder as it was', async () => {
    const folder = newProject()
    await pawl(folder, 'enqueue', 'story', '-p', 'genre=a')
    const before = readdirSync(folder).toSorted()
    expect(before.filter((name) => name.startsWith('pawl.db'))).toEqual(['pawl.db'])
    for (const argv of [['jobs', 'list'], ['status'], ['doctor'], ['migrate', '--dry-run']]) {
      expect((await pawl(folder, ...argv)).exitCode).toBe(0)
    }
    expect(readdirSync(folder).toSorted()).toEqual(before)
  })
})

describe('a reader that leaves', () => {
  test('ends a long list quietly', async () => {
    const folder = newProject()
    writeInto(
      folder,
      'jobs.json',
      Array.from({ length: 2_000 }, (_, n) => ({ type: 'story', params: { genre: `g${n}` } })),
    )
    const bulk = await pawl(folder, 'enqueue', '--file', 'jobs.json', '--json')
    expect(bulk.exitCode).toBe(0)
    const line = `"${process.execPath}" "${MAIN}" jobs list --all | head -n 1; echo "exit \${PIPESTATUS[0]}"`
    const { stdout, stderr } = await new Promise<{ stdout: string; stderr: string }>((done) =>
      execFile('bash', ['-c', line], { cwd: folder, env: cleanEnv() }, (_, out, err) =>
        done({ stdout: out, stderr: err }),
      ),
    )
    expect(stderr).toBe('')
    expect(stdout).toMatch(/^ID +STATUS.*\nexit 0\n$/)
  })

  test('gets a document that is larger than a pipe to its last byte', async () => {
    const folder = newProject()
    writeInto(
      folder,
      'jobs.json',
      Array.from({ length: 1_000 }, (_, n) => ({ type: 'story', params: { genre: `g${n}` } })),
    )
    const { stdout } = await new Promise<{ stdout: string }>((done) =>
      execFile(
        'bash',
        ['-c', `"${process.execPath}" "${MAIN}" enqueue --file jobs.json --json | cat`],
        { cwd: folder, env: cleanEnv(), maxBuffer: 100_000_000 },
        (_, out) => done({ stdout: out }),
      ),
    )
    expect((JSON.parse(stdout) as { items: unknown[] }).items).toHaveLength(1_000)
  })
})

describe('a signal', () => {
  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s ends a command that waits, with %i and without a word', async (signal, code) => {
    const folder = newProject()
    const child = start(folder, 'enqueue', 'story', '-p', 'genre=a', '--wait')
    let told = ''
    let isSignalled = false
    child.stderr?.on('data', (bytes: Buffer) => {
      told += bytes.toString()
      // Once: the second signal would end it at once, wherever it is.
      if (isSignalled || !told.includes('waiting for its end')) return
      isSignalled = true
      child.kill(signal)
    })
    expect(await exitOf(child)).toBe(code)
    expect(told).not.toContain('error')
    const { stdout } = await pawl(folder, 'jobs', 'list', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ items: [{ status: 'QUEUED' }] })
  })
})

describe('the start', () => {
  test('of `pawl --help` loads neither a database, nor a server, nor a schema library, nor a compiler', () => {
    const files = staticImports(MAIN)
    const packages = [...files].filter((file) => !file.startsWith('/'))
    expect(packages.filter((name) => !name.startsWith('node:')).toSorted()).toEqual(['commander', 'picocolors'])
    expect([...files].filter((file) => /dist\/(http|stores|engine|operations|library)\//.test(file))).toEqual([])
  })
})

/** All files and packages that are loaded before anything is asked for: `import(…)` comes later. */
function staticImports(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file)) return seen
  seen.add(file)
  const text = readFileSync(file, 'utf8')
  for (const [, from, alone] of text.matchAll(/^(?:import|export) [^'"()]*?from '([^']+)'|^import '([^']+)'/gm)) {
    const specifier = from ?? alone ?? ''
    if (specifier.startsWith('.')) staticImports(resolve(dirname(file), specifier), seen)
    else seen.add(specifier)
  }
  return seen
}
