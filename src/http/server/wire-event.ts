import { wireInstant } from '../../domain/wire.ts'
import type { EventRow, EventStore, OperationProgress, Transition } from '../../store/events.ts'

/** A transition as the world outside sees it. */
export type WireEvent = WireJobEvent | WireOperationEvent

/** Of `operation.progress`. */
export interface WireOperationEvent {
  readonly operation_id: string
  readonly kind: OperationProgress['kind']
  readonly status: OperationProgress['status']
  readonly matched: number
  readonly matched_or_more: boolean
  readonly done: number
  readonly changed: number
  readonly skipped: number
  readonly failed: number
  readonly at: string
}

export interface WireJobEvent {
  readonly job_id: string
  readonly run_id: string | null
  readonly chain_id: string
  readonly job_type: string
  readonly status: Transition['status']
  readonly outcome: Transition['outcome']
  readonly reason: Transition['reason']
  readonly attempt: number
  readonly at: string
  /** Only of `schedule.triggered`. */
  readonly schedule_id?: string
  /** Only of `run.progress`. */
  readonly progress?: number
  readonly message?: string | null
}

export function wireEvent(transition: Transition): WireEvent {
  const { scheduleId, progress, message = null, operation } = transition
  if (operation !== undefined) return wireOperationEvent(operation, transition.at)
  return {
    job_id: transition.jobId,
    run_id: transition.runId,
    chain_id: transition.chainId,
    job_type: transition.type,
    status: transition.status,
    outcome: transition.outcome,
    reason: transition.reason,
    attempt: transition.attempt,
    at: wireInstant(transition.at),
    ...(scheduleId !== undefined && { schedule_id: scheduleId }),
    ...(progress !== undefined && { progress, message }),
  }
}

function wireOperationEvent(operation: OperationProgress, at: number): WireOperationEvent {
  const { operationId, kind, status, matched, isMatchedCapped, done, changed, skipped, failed } = operation
  const counts = { matched, matched_or_more: isMatchedCapped, done, changed, skipped, failed }
  return { operation_id: operationId, kind, status, ...counts, at: wireInstant(at) }
}

/** A place in the stream: everything up to this transition of this row was told. Row 0: nothing was. */
export interface Place {
  readonly seq: number
  readonly index: number
}

export function eventId({ seq, index }: Place): string {
  return `${seq}.${index}`
}

const EVENT_ID = /^(\d{1,15})\.(\d{1,9})$/

function placeOf(id: string): Place | null {
  const match = EVENT_ID.exec(id)
  return match === null ? null : { seq: Number(match[1]), index: Number(match[2]) }
}

/** Why the stream cannot go on where the reader was. */
export type ResetReason = 'malformed' | 'pruned' | 'unknown'

export type Resumption =
  /** What of the row itself was not told yet follows, then the rows after it. */
  | { readonly kind: 'resumed'; readonly place: Place; readonly rest: EventRow | null }
  | { readonly kind: 'reset'; readonly reason: ResetReason }

/**
 * Where a reader goes on that was told of this event last. Only while the row of that event is still there is it certain
 * that none after it is gone.
 */
export async function resume(store: Pick<EventStore, 'readEvents' | 'lastEventSeq'>, id: string): Promise<Resumption> {
  const place = placeOf(id)
  if (place === null) return { kind: 'reset', reason: 'malformed' }
  const [row] = await store.readEvents(place.seq - 1, 1)
  if (place.seq === 0) return resumeAtBeginning(row)
  if (row === undefined) return { kind: 'reset', reason: 'unknown' }
  if (row.seq !== place.seq) return { kind: 'reset', reason: 'pruned' }
  return { kind: 'resumed', place, rest: row }
}

/** The place before the first row that was ever written. */
function resumeAtBeginning(first: EventRow | undefined): Resumption {
  if (first !== undefined && first.seq !== 1) return { kind: 'reset', reason: 'pruned' }
  return { kind: 'resumed', place: { seq: 0, index: 0 }, rest: null }
}

/** The place behind everything up to this row. */
export async function placeBehind(store: Pick<EventStore, 'readEvents'>, seq: number): Promise<Place> {
  const [row] = seq === 0 ? [] : await store.readEvents(seq - 1, 1)
  return { seq, index: row?.seq === seq ? lastIndex(row) : 0 }
}

export function lastIndex(row: EventRow): number {
  return row.transitions.length === 0 ? 0 : indexAt(row, row.transitions.length - 1)
}

/** Which of its commit the transition at this position is. */
export function indexAt({ indexes }: EventRow, position: number): number {
  return indexes?.[position] ?? position
}
