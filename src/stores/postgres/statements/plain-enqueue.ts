import type { AuditNote } from '../../../store/audit.ts'
import type { Transition } from '../../../store/events.ts'
import type { EnqueueResult, NewJob } from '../../../store/jobs.ts'
import type { SqlValue } from '../connection.ts'
import { columnsOf, INSERT_NUMBERED } from './insert-jobs.ts'

/** A Job that nothing can speak against: it names no key, no parent, no template and no schedule. */
export function isPlainJob(job: NewJob): boolean {
  return (
    job.businessKey === null &&
    job.idempotency === null &&
    job.dependsOn.length === 0 &&
    job.templateId === null &&
    job.scheduleId === null
  )
}

/** A call that wants plain Jobs accepted. Many of them are one statement, and so one commit. */
export interface PlainEnqueue {
  readonly jobs: readonly NewJob[]
  /** Of each Job. */
  readonly numbers: readonly InternedNumbers[]
  readonly now: number
  readonly note: AuditNote | null
}

interface InternedNumbers {
  readonly laneId: number
  readonly policyId: number
}

// One row per Job, in order. As part of the statement, what was accepted is told, and who asked for it is noted.
export const ENQUEUE_PLAIN = `
${INSERT_NUMBERED},
told as (
  insert into pawl.events (seq, part, at, transitions)
  select pg_current_xact_id()::text::bigint, 1, max(g.at), json_agg(g.stored order by g.at)::text
  from (
    select created_at as at,
      json_build_array('job.queued', created_at, null, null, json_agg(number order by place)) as stored
    from numbered
    group by created_at
  ) g
),
noted as (
  insert into pawl.audit (at, actor, action, subject, others, details)
  select * from unnest($22::bigint[], $23::text[], $24::text[], $25::text[], $26::integer[], $27::text[])
)
select number as seq, pg_current_xact_id()::text::bigint as xid
from numbered
order by place`

export interface AcceptedRow {
  readonly seq: number
  readonly xid: number
}

/** The values of `ENQUEUE_PLAIN` for calls in the order of their instants. */
export function plainEnqueueValues(calls: readonly PlainEnqueue[]): SqlValue[] {
  const rows = calls.flatMap(({ jobs, numbers, now }) =>
    jobs.map((job, index) => ({
      job,
      now,
      ...(numbers[index] as InternedNumbers),
      seq: null,
      groupId: null,
      parents: 0,
      unmetParents: 0,
      awaited: false,
    })),
  )
  const notes = calls.flatMap(noteOf)
  return [
    ...columnsOf(rows),
    notes.map(({ at }) => at),
    notes.map(({ actor }) => actor),
    notes.map(({ action }) => action),
    notes.map(({ subject }) => subject),
    notes.map(({ others }) => others),
    notes.map(({ details }) => details),
  ]
}

interface NoteToInsert {
  readonly at: number
  readonly actor: string
  readonly action: string
  readonly subject: string | null
  readonly others: number
  readonly details: string | null
}

/** Every Job of the call is new, so of the ids that were drawn those of its Jobs are what it made. */
function noteOf({ jobs, note }: PlainEnqueue): NoteToInsert[] {
  if (note === null || jobs.length === 0) return []
  const ids = new Set(jobs.map(({ jobId }) => jobId))
  const made = note.made().filter((id) => ids.has(id))
  const { at, actor, action } = note
  const subject = note.subject ?? made[0] ?? null
  const others = made.length - (note.subject === null && subject !== null ? 1 : 0)
  return [{ at, actor, action, subject, others, details: note.details(made) }]
}

/** What each call is told, and what everybody is. */
export function readAccepted(
  calls: readonly PlainEnqueue[],
  rows: readonly AcceptedRow[],
): { readonly results: EnqueueResult[]; readonly transitions: Transition[] } {
  let place = 0
  const transitions: Transition[] = []
  const results = calls.map(({ jobs, now }): EnqueueResult => {
    const items = jobs.map(({ jobId, type }) => {
      const { seq } = rows[place++] as AcceptedRow
      transitions.push({
        kind: 'job.queued',
        jobId,
        runId: null,
        chainId: jobId,
        type,
        status: 'QUEUED',
        outcome: null,
        reason: null,
        attempt: 1,
        at: now,
      })
      return { kind: 'created' as const, jobId, position: 100 * seq }
    })
    return { kind: 'enqueued', items }
  })
  return { results, transitions }
}
