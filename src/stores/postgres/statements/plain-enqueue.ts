import type { AuditNote } from '../../../store/audit.ts'
import type { Transition } from '../../../store/events.ts'
import type { EnqueueResult, NewJob } from '../../../store/jobs.ts'
import type { SqlValue } from '../connection.ts'

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

/**
 * How much there is to be written. `bare`: no Job has a name, a tag, an author or a webhook, and nobody wants a note of who asked,
 * which is what happens most. The fewer lists and tables a statement has, the less it costs, however many Jobs there are.
 */
type PlainKind = 'bare' | 'full'

const OPTIONAL = 'name, tags, created_by, webhook_url'

const TAGGED_AND_NOTED = `
tagged as (
  insert into pawl.job_tags (tag, seq)
  select distinct tag, n.number
  from numbered n, json_array_elements_text(n.tags::json) tag
  where n.tags is not null
),
noted as (
  insert into pawl.audit (at, actor, action, subject, others, details)
  select * from unnest($12::bigint[], $13::text[], $14::text[], $15::text[], $16::integer[], $17::text[])
),`

// One row: the numbers of the Jobs, in order. As part of the statement, what was accepted is told, and who asked for it is noted.
const textOf = (kind: PlainKind) => `
with given as (
  select *
  from unnest(
    $1::text[], $2::integer[], $3::integer[], $4::integer[], $5::bigint[], $6::bigint[], $7::text[]
    ${kind === 'full' ? ', $8::text[], $9::text[], $10::text[], $11::text[]' : ''}
  ) with ordinality as given (
    job_id, lane_id, policy_id, priority, run_at, created_at, params ${kind === 'full' ? `, ${OPTIONAL}` : ''}, place
  )
  order by place
),
numbered as materialized (
  select nextval('pawl.job_seq') as number, g.*
  from given g
),
accepted as (
  insert into pawl.jobs (
    seq, job_id, lane_id, policy_id, priority, position, run_at, created_at, params ${kind === 'full' ? `, ${OPTIONAL}` : ''}
  )
  select number, job_id, lane_id, policy_id, priority, number * 100, run_at, created_at, params
    ${kind === 'full' ? `, ${OPTIONAL}` : ''}
  from numbered
),
queued as (
  insert into pawl.queue (seq, lane_id, ready, priority, position, run_at, created_at)
  select number, lane_id, run_at <= created_at, priority, number * 100, run_at, created_at
  from numbered
),
${kind === 'full' ? TAGGED_AND_NOTED : ''}
told as (
  insert into pawl.events (seq, part, at, transitions)
  select pg_current_xact_id()::text::bigint, 1, max(g.at), json_agg(g.stored order by g.at)::text
  from (
    select created_at as at,
      json_build_array('job.queued', created_at, null, null, json_agg(number order by place)) as stored
    from numbered
    group by created_at
  ) g
)
select array_agg(number order by place) as seqs, pg_current_xact_id()::text::bigint as xid
from numbered`

export const ENQUEUE_PLAIN: Readonly<Record<PlainKind, string>> = { bare: textOf('bare'), full: textOf('full') }

export interface AcceptedRow {
  /** As PostgreSQL writes a list. */
  readonly seqs: string
  readonly xid: number
}

/** The statement that accepts calls in the order of their instants, and its values. */
export function plainEnqueue(calls: readonly PlainEnqueue[]): { readonly sql: string; readonly values: SqlValue[] } {
  const jobs = calls.flatMap((call) => call.jobs)
  const numbers = calls.flatMap((call) => call.numbers)
  const instants = calls.flatMap(({ jobs: own, now }) => own.map(() => now))
  const values = [
    jobs.map(({ jobId }) => jobId),
    numbers.map(({ laneId }) => laneId),
    numbers.map(({ policyId }) => policyId),
    jobs.map(({ priority }) => priority),
    jobs.map(({ runAt }, index) => runAt ?? (instants[index] as number)),
    instants,
    jobs.map(({ params }) => params),
  ]
  if (calls.every(({ note }) => note === null) && jobs.every(isBare)) return { sql: ENQUEUE_PLAIN.bare, values }
  const notes = calls.flatMap(noteOf)
  return {
    sql: ENQUEUE_PLAIN.full,
    values: [
      ...values,
      jobs.map(({ name }) => name),
      jobs.map(({ tags }) => (tags.length === 0 ? null : JSON.stringify(tags))),
      jobs.map(({ createdBy }) => createdBy),
      jobs.map(({ webhookUrl }) => webhookUrl),
      notes.map(({ at }) => at),
      notes.map(({ actor }) => actor),
      notes.map(({ action }) => action),
      notes.map(({ subject }) => subject),
      notes.map(({ others }) => others),
      notes.map(({ details }) => details),
    ],
  }
}

function isBare({ name, tags, createdBy, webhookUrl }: NewJob): boolean {
  return name === null && tags.length === 0 && createdBy === null && webhookUrl === null
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
  { seqs }: AcceptedRow,
): { readonly results: EnqueueResult[]; readonly transitions: Transition[] } {
  const numbers = seqs.slice(1, -1).split(',')
  let place = 0
  const transitions: Transition[] = []
  const results = calls.map(({ jobs, now }): EnqueueResult => {
    const items = jobs.map(({ jobId, type }) => {
      const seq = Number(numbers[place++])
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
