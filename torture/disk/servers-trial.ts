import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Job } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import type { Chance } from '../chance.ts'
import { packageRoot } from '../package-root.ts'
import { contradictionsWithin } from '../power/check-image.ts'
import type { TrialResult } from './trial-result.ts'

const PAWL = join(packageRoot, 'dist/cli/main.js')
const PATIENCE_MS = 60_000
const REQUESTS = 30

/** Bodies write down that they began. Their folder is the one of the configuration. */
const CONFIG = `
import { appendFileSync } from 'node:fs'
import { defineConfig, defineJob } from 'pawl'
const note = defineJob({ type: 'note', run: ({ params, jobId }) => appendFileSync('began.log', \`\${jobId} \${params.n}\\n\`) })
export default defineConfig({ jobs: [note], concurrency: 2 })
`

/** Two servers on one file take requests at once; one is killed. What was answered is there, and is executed. */
export async function runServersTrial(options: {
  readonly folder: string
  readonly chance: Chance
  readonly signal: AbortSignal
}): Promise<TrialResult> {
  const { folder, chance, signal } = options
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'pawl.config.mjs'), CONFIG)
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(packageRoot, join(folder, 'node_modules', 'pawl'))
  writeFileSync(join(folder, 'began.log'), '')
  const deadline = performance.now() + PATIENCE_MS
  const children: ChildProcess[] = []
  const answered = new Map<string, number>()
  const wrongs: string[] = []
  try {
    const urls = await Promise.all([serve(folder, children, signal), serve(folder, children, signal)])
    const killAt = chance.between(5, REQUESTS)
    await Promise.all(
      urls.map(async (url, index) => {
        for (let n = 1; n <= REQUESTS; n++) {
          if (index === 1 && n === killAt) children[1]?.kill('SIGKILL')
          await ask(url, index * REQUESTS + n, answered)
        }
      }),
    )
    wrongs.push(...(await untilExecuted(urls[0], answered, deadline)))
    children[0]?.kill('SIGTERM')
    const [exitCode, killedBy] = (await ended(children[0])) as [number | null, string | null]
    if (exitCode !== 0) wrongs.push(`The server that was told to end ended with ${exitCode ?? killedBy}.`)
  } finally {
    for (const child of children) child.kill('SIGKILL')
    await Promise.all(children.map(ended))
  }
  wrongs.push(...wrongWithBodies(join(folder, 'began.log'), answered), ...(await wrongWithin(join(folder, 'pawl.db'))))
  return { wrongs, counts: { 'servers killed': 1, acknowledgements: answered.size } }
}

/** Starts a server and waits until it says where it listens. */
async function serve(folder: string, children: ChildProcess[], signal: AbortSignal): Promise<string> {
  const args = [PAWL, 'serve', '--store', 'sqlite:pawl.db', '--port', '0']
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], signal })
  child.on('error', () => {})
  children.push(child)
  let said = ''
  return await new Promise((resolve, reject) => {
    const hear = (chunk: Buffer) => {
      said += chunk.toString()
      const url = /http:\/\/[0-9.:]+/.exec(said)?.[0]
      if (url !== undefined) resolve(url)
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    child.once('exit', (exitCode, killedBy) =>
      reject(new Error(`A server ended with ${exitCode ?? killedBy}: ${said}`)),
    )
  })
}

async function ended(child: ChildProcess | undefined): Promise<unknown[]> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) {
    return [child?.exitCode ?? null, child?.signalCode ?? null]
  }
  return await once(child, 'exit')
}

/** A server that is dead answers nobody. */
async function ask(url: string, n: number, answered: Map<string, number>): Promise<void> {
  try {
    const response = await fetch(`${url}/api/jobs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'note', params: { n } }),
    })
    if (response.status === 201) answered.set(((await response.json()) as { job_id: string }).job_id, n)
  } catch {
    // It was killed.
  }
}

async function untilExecuted(url: string, answered: ReadonlyMap<string, number>, deadline: number): Promise<string[]> {
  for (const [jobId, n] of answered) {
    for (;;) {
      const response = await fetch(`${url}/api/jobs/${jobId}`)
      if (response.status !== 200)
        return [`I1: Job ${jobId} (request ${n}) was acknowledged, and asking for it gives ${response.status}.`]
      const { status, outcome, chain_id } = (await response.json()) as {
        status: Job['status']
        outcome: string
        chain_id: string
      }
      if (status === 'FINISHED') {
        // What the dead server executed has failed as a crash, and has a retry.
        if (outcome === 'COMPLETED' || (await isCompleted(url, chain_id))) break
      }
      if (performance.now() > deadline)
        return [`I15: Job ${jobId} (request ${n}) is ${status} after ${PATIENCE_MS} ms.`]
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  return []
}

async function isCompleted(url: string, chainId: string): Promise<boolean> {
  const { outcome } = (await (await fetch(`${url}/api/jobs/${chainId}/chain`)).json()) as { outcome: string | null }
  return outcome === 'COMPLETED'
}

/** Each Job once, and only those that somebody asked for. */
function wrongWithBodies(file: string, answered: ReadonlyMap<string, number>): string[] {
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  const ids = lines.map((line) => line.split(' ')[0] as string)
  const twice = ids.filter((id, index) => ids.indexOf(id) !== index)
  const begun = new Set(lines.map((line) => Number(line.split(' ')[1])))
  return [
    ...twice.map((id) => `I4: a body of Job ${id} began twice.`),
    ...[...answered]
      .filter(([, n]) => !begun.has(n))
      .map(([id, n]) => `I15: no body of Job ${id} (request ${n}) began.`),
  ].slice(0, 5)
}

async function wrongWithin(path: string): Promise<string[]> {
  const store = await sqlite(path).open()
  try {
    return await contradictionsWithin(store, Date.now())
  } finally {
    await store.close()
  }
}
