import { type AnyJobType, defineJob, type JobContext, NonRetryableError } from 'pawl'
import type { SimulatedProcess } from './simulated-process.ts'
import type { Body, Order, Witness } from './witness.ts'

/** All limits of the store, and the types that are under them. */
export const LIMITED = {
  'resource:press': ['press', 'press-and-oven', 'brief'],
  'resource:oven': ['oven', 'press-and-oven'],
  'type:pair': ['pair'],
} as const

export const RESOURCES = { press: 1, oven: 2 }
export const PAIR_MAX = 2

export const TYPES = ['free', 'press', 'oven', 'press-and-oven', 'pair', 'brief'] as const
export type TypeName = (typeof TYPES)[number]

const TIMEOUT_MS = 2_000
const MAX_RETRIES = 2
const MAX_CRASH_RETRIES = 3
export const BACKOFF_MS = 500
/** `falters` fails so often, then it completes. */
const FALTERS_TIMES = 1

const RETRY = {
  maxRetries: MAX_RETRIES,
  maxCrashRetries: MAX_CRASH_RETRIES,
  backoff: { kind: 'fixed', delayMs: BACKOFF_MS },
} as const

const OPTIONS: Record<TypeName, object> = {
  free: {},
  press: { resources: ['press'] },
  oven: { resources: ['oven'] },
  'press-and-oven': { resources: ['press', 'oven'] },
  pair: { concurrency: PAIR_MAX },
  brief: { timeoutMs: TIMEOUT_MS, resources: ['press'] },
}

/** The job types as a process has them: their bodies are seen by the witness. */
export function jobTypesOf(process: SimulatedProcess, witness: Witness): AnyJobType[] {
  return TYPES.map((type) =>
    defineJob({ type, retry: RETRY, ...OPTIONS[type], run: (context) => runSeen(type, context, process, witness) }),
  )
}

async function runSeen(
  type: string,
  context: JobContext,
  process: SimulatedProcess,
  witness: Witness,
): Promise<unknown> {
  const order = context.params as Order
  const { jobId, runId, attempt, signal } = context
  const params = JSON.stringify(order)
  const body = witness.begin({ n: order.n, type, jobId, runId, attempt, process, params })
  signal.addEventListener('abort', () => {
    body.abortedFor = String((signal.reason as { cause?: unknown } | undefined)?.cause)
  })
  try {
    const result = await perform(order, context, process)
    witness.end(body, order.does === 'skips' ? 'skipped' : 'returned')
    return result
  } catch (error) {
    witness.end(body, isAbort(body, order) ? 'aborted' : 'threw')
    throw error
  }
}

function isAbort({ abortedFor }: Body, { isDeaf }: Order): boolean {
  return abortedFor !== null && !isDeaf
}

async function perform(order: Order, context: JobContext, process: SimulatedProcess): Promise<unknown> {
  const { n, does, ms, isDeaf } = order
  const { attempt, signal } = context
  if (ms > 0) await process.wait(ms, isDeaf ? undefined : signal)
  switch (does) {
    case 'completes':
      return n
    // As all others that agree: the store ends those together.
    case 'agrees':
      return null
    case 'falters':
      if (attempt <= FALTERS_TIMES) throw new Error(`Attempt ${attempt} of ${n} falters.`)
      return n
    case 'fails':
      throw new Error(`Attempt ${attempt} of ${n} fails.`)
    case 'refuses':
      throw new NonRetryableError(`${n} refuses.`)
    case 'skips':
      return context.skip(`${n} is not needed.`)
    case 'spawns':
      context.progress(0.5)
      await context.enqueue('free', { n: followUpOf(n), does: 'completes', ms: 0, isDeaf: false } satisfies Order)
      // What was asked for by an attempt that fails is not made.
      if (attempt === 1 && n % 2 === 0) throw new Error(`${n} fails behind its request.`)
      return n
    case 'overruns':
      await process.wait(TIMEOUT_MS * 2, isDeaf ? undefined : signal)
      return n
  }
}

export const followUpOf = (n: number): number => 1_000_000 + n
