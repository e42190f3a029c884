import { assert, PawlError } from '../domain/errors.ts'
import type { JsonValue } from '../domain/json.ts'
import { invalid, readWhole, readWord, refuseUnknownKeys } from '../domain/options.ts'
import { type Reservation, WAIT_TIMEOUT_DEFAULT_MS } from '../domain/reservation.ts'
import type { DirectEnd, DirectExecutions } from '../engine/direct-execution.ts'
import { prepareJob } from '../engine/enqueue.ts'
import type { OperationContext } from './context.ts'
import { readEnqueueOptions } from './enqueue-options.ts'

export interface DirectOptions {
  /**
   * How long to wait for a free place, permits included. What executes by then is waited for until its end.
   * @default 300_000
   */
  readonly waitTimeoutMs?: number
  /** What to do when it cannot start at once: wait for the next free place, or be refused. @default 'wait' */
  readonly onBusy?: 'wait' | 'reject'
  /** Gives up: while it waits its ticket is given back; a body that executes goes on to its end. */
  readonly signal?: AbortSignal
  /** Who asked, for the record. */
  readonly createdBy?: string
}

/** What came of a direct execution. `skipped` is why the handler skipped, and then there is no result. */
export type DirectResult<Result = JsonValue> = {
  readonly reservationId: string
  readonly startedAt: number
  readonly finishedAt: number
} & ({ readonly result: Result; readonly skipped: null } | { readonly result: null; readonly skipped: string })

export const WAIT_TIMEOUT_MAX_MS = 24 * 3_600_000

/** Executes a type in the next free place, before the queue, and answers with its result. It makes no Job. */
export async function runDirect(
  context: OperationContext,
  directs: DirectExecutions,
  type: string,
  params: unknown,
  options: DirectOptions = {},
): Promise<DirectResult> {
  const request = readDirectOptions(options)
  const askedBy = options.createdBy === undefined ? {} : { createdBy: options.createdBy }
  // A ticket is accepted as a Job would be: the same params, checked by the same schema, within the same limits.
  const asked = readEnqueueOptions(type, params, askedBy, context.clock.now())
  const job = await prepareJob(asked, await context.types.get(type), '')
  const { policy, createdBy } = job
  const end = await directs.execute({ type, params: job.params, policy, createdBy, ...request }, context)
  return resultOf(end, type, request.waitTimeoutMs)
}

function readDirectOptions(options: DirectOptions) {
  refuseUnknownKeys(options, ['waitTimeoutMs', 'onBusy', 'signal', 'createdBy'], '')
  const { waitTimeoutMs = WAIT_TIMEOUT_DEFAULT_MS, onBusy = 'wait', signal = null } = options
  if (signal !== null && !(signal instanceof AbortSignal)) throw invalid('signal', 'an AbortSignal', signal)
  return {
    waitTimeoutMs: readWhole(waitTimeoutMs, 1, WAIT_TIMEOUT_MAX_MS, 'waitTimeoutMs'),
    onBusy: readWord(onBusy, ['wait', 'reject'], 'onBusy'),
    signal,
  }
}

function resultOf(end: DirectEnd, type: string, waitTimeoutMs: number): DirectResult {
  switch (end.kind) {
    case 'ended':
      return resultOfEnded(end.reservation)
    case 'no-node':
      throw new PawlError(
        'no_node',
        `No node that is started handles \`${type}\`. Start one, or enqueue a job: it waits until there is one.`,
        { details: { type } },
      )
    case 'busy':
      throw new PawlError(
        'direct_busy',
        `\`${type}\` cannot start now: no place is free, or a limit is reached. Try again later, or ask to wait for a free place.`,
        { details: { type } },
      )
    case 'wait-timeout':
      throw new PawlError(
        'direct_wait_timeout',
        `\`${type}\` could not start within ${waitTimeoutMs} ms. It was not executed, and will not be.`,
        { details: { type, reservationId: end.reservationId, waitTimeoutMs } },
      )
    case 'expired':
      throw new PawlError(
        'direct_expired',
        `The reservation ${end.reservationId} of \`${type}\` expired, because this process did not renew it in time. It was not executed.`,
        { details: { type, reservationId: end.reservationId } },
      )
    case 'pruned':
      throw new PawlError(
        'direct_expired',
        `The record of the reservation ${end.reservationId} of \`${type}\` was pruned before this process looked at it. Whether it was executed is not known any more.`,
        { details: { type, reservationId: end.reservationId } },
      )
  }
}

function resultOfEnded(reservation: Reservation): DirectResult {
  const { reservationId, type, outcome, reason, error, result, startedAt, endedAt } = reservation
  assert(startedAt !== null && endedAt !== null, `reservation ${reservationId} has an outcome but no times`)
  const about = { reservationId, startedAt, finishedAt: endedAt }
  if (outcome === 'SKIPPED') return { ...about, result: null, skipped: error ?? '' }
  if (outcome === 'COMPLETED') return { ...about, result, skipped: null }
  throw new PawlError('direct_failed', `The direct execution of \`${type}\` failed (${reason}): ${error}`, {
    details: { type, reservationId, reason, startedAt, finishedAt: endedAt },
  })
}
