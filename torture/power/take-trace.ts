import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { underShim } from '../shim/shim.ts'
import type { Plan, Session } from './acts.ts'
import { QuickClock, sharedNow } from './quick-clock.ts'
import { readTrace, type TraceRecord } from './trace.ts'
import type { WorkloadOrder } from './workload-process.ts'

const HERE = fileURLToPath(import.meta.url)
const WORKLOAD = join(dirname(HERE), `workload-process${extname(HERE)}`)

/** A second of the processes is so many of their clock. */
const SPEED = 20
const EPOCH_AT = Date.UTC(2026, 0, 5, 9)
const PATIENCE_MS = 120_000

/** Lets processes use Pawl as planned, and returns what they did to their files. */
export async function takeTrace(options: {
  readonly plan: Plan
  /** Of its own, without links. It is removed. */
  readonly folder: string
  readonly library: string
  readonly signal: AbortSignal
}): Promise<TraceRecord[]> {
  const { plan, folder, library, signal } = options
  const files = join(folder, 'files')
  const trace = join(folder, 'trace')
  mkdirSync(files, { recursive: true })
  const env = underShim(library, { folder: files, trace })
  const time = { epochAt: EPOCH_AT, setAt: sharedNow(), speed: SPEED }
  try {
    for (const [round, sessions] of plan.entries()) {
      // Whoever lived before is dead: what it has not written by now is never written.
      const prunesBefore = sessions.length === 1 ? null : new QuickClock(time).now()
      await Promise.all(
        sessions.map(async (session, index) => {
          const file = join(folder, `order-${round}-${index}`)
          writeFileSync(file, JSON.stringify({ folder: files, session, time, prunesBefore } satisfies WorkloadOrder))
          await live(
            spawn(process.execPath, [WORKLOAD, file], { env, stdio: ['ignore', 'ignore', 'pipe'] }),
            session,
            signal,
          )
        }),
      )
    }
    const records = readTrace(trace)
    refuseBlindTrace(records)
    return records
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Waits until a process has ended as it should. */
async function live(child: ChildProcess, session: Session, signal: AbortSignal): Promise<void> {
  let errors = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    errors = `${errors}${chunk.toString()}`.slice(-4_000)
  })
  const end = () => child.kill('SIGKILL')
  const timer = setTimeout(end, PATIENCE_MS)
  signal.addEventListener('abort', end, { once: true })
  const [exitCode, killedBy] = (await once(child, 'close')) as [number | null, string | null]
  clearTimeout(timer)
  signal.removeEventListener('abort', end)
  const isAsPlanned = session.end === 'kill' ? killedBy === 'SIGKILL' : exitCode === 0
  if (!isAsPlanned && !signal.aborted) {
    throw new Error(`A process that was traced ended with ${exitCode ?? killedBy}:\n${errors}`)
  }
}

/** What is written through a mapping, or past the C library, is not in the trace: then it would prove nothing. */
function refuseBlindTrace(records: readonly TraceRecord[]): void {
  const mapped = records.find(({ kind, name }) => kind === 'mapped' && !name.endsWith('-shm'))
  if (mapped !== undefined) throw new Error(`Expected SQLite to write ${mapped.name} by calls, but it maps it.`)
  const isSynced = (end: string) => records.some(({ kind, name }) => kind === 'sync-ended' && name.endsWith(end))
  if (!isSynced('-wal') || !isSynced('.db'))
    throw new Error('Expected syncs of the database and its log in the trace, found none.')
}
