import { type ChildProcess, execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Chance } from '../chance.ts'
import { makeActs } from '../power/acts.ts'
import { checkImage } from '../power/check-image.ts'
import { sharedNow } from '../power/quick-clock.ts'
import { DATABASE_FILE, type Said } from '../power/said.ts'
import { Testimony } from '../power/testimony.ts'
import { type DiskFault, underShim } from '../shim/shim.ts'
import type { BusyOrder, BusyReport } from './busy-process.ts'
import type { TrialResult } from './trial-result.ts'

const HERE = fileURLToPath(import.meta.url)
const BUSY_PROCESS = join(dirname(HERE), `busy-process${extname(HERE)}`)

const SPEED = 20
const PATIENCE_MS = 90_000
/** What the disk refuses is refused for at least so long before it is sound again. */
const REFUSED_FOR_MS = 150
/** Who waits for an outcome that the disk does not take asks for nothing, so nothing is refused. */
const SILENT_FOR_MS = 2_000
const ACTS = 40
const LAST_ACTS = 6
/** The numbers of the last requests begin here. */
const LAST_FROM = 100_000
/** What somebody may be told while the disk fails. Anything else would send people in a wrong direction. */
const CLEAR_CODES = new Set(['storage_full', 'database_unavailable', 'store_busy'])
/** A refusal says what happened to the request, or what to do. */
const SAYS_WHAT_TO_DO = /Nothing was stored|[Cc]heck |try again|read-only for this user|use a local disk/

export interface FaultsTrial {
  readonly kind: 'faults' | 'size-limit'
  readonly faults?: readonly DiskFault[]
  readonly kilobytes?: number
}

/** Lets a process work on a disk that fails, makes the disk sound again, and compares what it was told with what is there. */
export async function runFaultsTrial(
  trial: FaultsTrial,
  options: { readonly folder: string; readonly library: string; readonly chance: Chance; readonly signal: AbortSignal },
): Promise<TrialResult> {
  const { folder, chance, signal } = options
  const outside = join(folder, 'outside')
  const files = join(folder, 'files')
  mkdirSync(outside, { recursive: true })
  mkdirSync(files)
  const place = {
    path: join(realpathSync(files), DATABASE_FILE),
    log: join(outside, 'said.log'),
    orders: join(outside, 'order.json'),
    faultLog: join(outside, 'faults.log'),
    isFailing: join(outside, 'failing'),
  }
  writeFileSync(place.isFailing, '')
  writeFileSync(place.log, '')
  const order: BusyOrder = {
    path: place.path,
    log: place.log,
    acts: makeActs(chance, ACTS),
    lastActs: Array.from({ length: LAST_ACTS }, (_, index) => ({
      kind: 'one',
      request: { type: 'plain', order: { n: LAST_FROM + index, does: 'completes' } },
    })),
    clients: chance.between(1, 4),
    time: { epochAt: Date.UTC(2026, 0, 5, 9), setAt: sharedNow(), speed: SPEED },
  }
  writeFileSync(place.orders, JSON.stringify(order))
  const faults = (trial.faults ?? []).map((fault) => ({ ...fault, while: place.isFailing }))
  const env = underShim(options.library, { folder: realpathSync(files), faults, faultLog: place.faultLog })
  const child = start(trial, place.orders, env)
  const ended = await live(child, trial, place, signal)
  const lines = readLines(place.log)
  const testimony = new Testimony()
  for (const line of lines) testimony.hear(line)
  const refusals = lines.filter((line) => line.is === 'refused')
  const unclear = refusals.filter(({ code, message }) => !CLEAR_CODES.has(code) || !SAYS_WHAT_TO_DO.test(message))
  const wrongs = [
    ...ended,
    ...[...new Set(testimony.failures)].slice(0, 3),
    ...unclear
      .map(({ code, message }) => `It was refused with words that help nobody: ${code}: ${message}`)
      .slice(0, 2),
  ]
  const now = (lines.at(-1)?.at ?? 0) + 60_000
  if (existsSync(place.path)) wrongs.push(...(await checkImage(place.path, testimony, now)))
  else if (testimony.accepted.size > 0) wrongs.push('I1: Jobs were acknowledged, and there is no file.')
  return {
    wrongs,
    counts: {
      'calls failed': existsSync(place.faultLog) ? readFileSync(place.faultLog, 'utf8').split('\n').length - 1 : 0,
      refusals: refusals.length,
      acknowledgements: testimony.accepted.size,
    },
  }
}

function start(trial: FaultsTrial, orders: string, env: NodeJS.ProcessEnv): ChildProcess {
  const stdio = ['ignore', 'ignore', 'pipe', 'ipc'] as const
  if (trial.kind !== 'size-limit') return fork(BUSY_PROCESS, [orders], { env, stdio: [...stdio], execArgv: [] })
  // The shell ignores the signal that would end the process, so that it is told of the limit as an error instead.
  const blocks = (trial.kilobytes ?? 0) * 2
  const script = `trap '' XFSZ; ulimit -S -f ${blocks}; exec "$@"`
  return fork(BUSY_PROCESS, [orders], {
    env,
    stdio: [...stdio],
    execPath: '/bin/sh',
    execArgv: ['-c', script, 'sh', process.execPath],
  })
}

/** Waits until it has ended, and makes its disk sound again in between. Returns what was wrong with its end. */
async function live(
  child: ChildProcess,
  trial: FaultsTrial,
  place: { readonly faultLog: string; readonly isFailing: string; readonly log: string },
  signal: AbortSignal,
): Promise<string[]> {
  let errors = ''
  let isHung = false
  child.stderr?.on('data', (chunk: Buffer) => {
    errors = `${errors}${chunk.toString()}`.slice(-3_000)
  })
  const kill = () => child.kill('SIGKILL')
  const timer = setTimeout(() => {
    isHung = true
    kill()
  }, PATIENCE_MS)
  signal.addEventListener('abort', kill, { once: true })
  const closed = once(child, 'close') as Promise<[number | null, string | null]>
  const isOver = closed.then(() => true)
  await Promise.race([untilRefused(child, trial, place, signal), isOver])
  await heal(child, trial, place.isFailing)
  const [exitCode, killedBy] = await closed
  clearTimeout(timer)
  signal.removeEventListener('abort', kill)
  if (signal.aborted || exitCode === 0) return []
  const how = isHung ? `hung for ${PATIENCE_MS} ms` : `ended with ${exitCode ?? killedBy}`
  return [`The process ${how}. ${errors}`]
}

/** The disk has failed for a while, or nobody says anything any more, or all acts are done and it has not come to that. */
async function untilRefused(
  child: ChildProcess,
  trial: FaultsTrial,
  place: { readonly faultLog: string; readonly log: string },
  signal: AbortSignal,
): Promise<void> {
  let areDone = false
  child.on('message', (report: BusyReport) => {
    if (report === 'acts done') areDone = true
  })
  let failedAt: number | null = null
  let said = { bytes: 0, at: performance.now() }
  while (!areDone && !signal.aborted) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    const bytes = statSync(place.log).size
    if (bytes !== said.bytes) said = { bytes, at: performance.now() }
    if (bytes > 0 && performance.now() - said.at > SILENT_FOR_MS) return
    const hasFailed = trial.kind === 'size-limit' ? hasLine(place.log, '"refused"') : hasLine(place.faultLog, ' ')
    if (hasFailed) failedAt ??= performance.now()
    if (failedAt !== null && performance.now() - failedAt > REFUSED_FOR_MS) return
  }
}

function hasLine(file: string, text: string): boolean {
  return existsSync(file) && readFileSync(file, 'utf8').includes(text)
}

async function heal(child: ChildProcess, trial: FaultsTrial, isFailing: string): Promise<void> {
  rmSync(isFailing, { force: true })
  if (trial.kind === 'size-limit') {
    await promisify(execFile)('prlimit', ['--pid', `${child.pid}`, '--fsize=unlimited']).catch(() => {})
  }
  if (child.connected) child.send('healed', () => {})
}

function readLines(file: string): Said[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Said)
}
