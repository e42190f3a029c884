import { findingOf } from '../../../shared/finding.ts'
import type { Connection, SqlRow } from '../../connection.ts'
import { readTotals } from '../statistics.ts'
import { checkOf, type InvariantCheck, pagesOf, type Steps } from './probe.ts'
import { JOBS, RUNS, TAGS, type Walk } from './walks.ts'

const COUNT_ENDED = `
select count(*) as executed, coalesce(sum(status = 'COMPLETED'), 0) as completed, coalesce(sum(status = 'FAILED'), 0) as failed,
  coalesce(sum(status = 'SKIPPED'), 0) as skipped
from pawl_runs
where seq > ? and seq <= ? and status is not null`

const COUNT_CANCELLED = `
select count(*) as cancelled
from pawl_jobs
where seq > ? and seq <= ? and cancelled_at is not null`

export const statistics: InvariantCheck = {
  invariant: 'statistics',
  title: 'The statistics count at least what the history still holds.',
  *examine(connection) {
    const counted = {
      ...(yield* addUp(connection, RUNS, COUNT_ENDED)),
      ...(yield* addUp(connection, JOBS, COUNT_CANCELLED)),
    }
    // Pruning takes from the history, never from the statistics.
    const tooLow = Object.entries(readTotals(connection))
      .filter(([name, total]) => total < (counted[name] ?? 0))
      .map(([name, total]) => `${name}: ${total} stored, ${counted[name]} counted`)
    if (tooLow.length === 0) return []
    return [
      findingOf(
        {
          message: 'The statistics are lower than what the history holds.',
          advice: 'Nothing else depends on them. Report this as a bug of Pawl unless rows were removed by hand.',
        },
        tooLow,
      ),
    ]
  },
}

function* addUp(connection: Connection, walk: Walk, sql: string): Steps<Record<string, number>> {
  const sums: Record<string, number> = {}
  for (const bounds of pagesOf(walk, connection)) {
    const row = connection.get<SqlRow>(sql, ...bounds) ?? {}
    for (const [name, value] of Object.entries(row)) sums[name] = (sums[name] ?? 0) + Number(value)
    yield
  }
  return sums
}

/** A tag of a Job `j` by which the Job is not found. */
const LACKS_TAG = `
  json_valid(j.tags)
  and exists (
    select 1
    from json_each(j.tags) t
    where not exists (select 1 from pawl_job_tags found where found.tag = t.value and found.seq = j.seq)
  )`

const SELECT_NOT_FOUND_BY_TAG = `
select j.job_id as id
from pawl_jobs j
where j.seq > ? and j.seq <= ? and j.tags is not null and ${LACKS_TAG}`

/** A row `g` that lists a Job under a tag that it has not. */
export const IS_WRONG_TAG = `
  not exists (
    select 1
    from pawl_jobs j, json_each(j.tags) t
    where j.seq = g.seq and t.value = g.tag
  )`

const SELECT_WRONG_TAGS = `
select g.tag || ' of job number ' || g.seq as id
from pawl_job_tags g
where (g.tag, g.seq) > (?, ?) and (g.tag, g.seq) <= (?, ?) and ${IS_WRONG_TAG}`

export const tags = checkOf('tags', 'Jobs are found by the tags they have, and by no others.', [
  {
    sql: SELECT_NOT_FOUND_BY_TAG,
    walk: JOBS,
    message: 'Jobs are not found by one of their tags.',
    advice: 'Use --fix: it makes the list anew from the Jobs.',
    remedy: 'tags',
  },
  {
    sql: SELECT_WRONG_TAGS,
    walk: TAGS,
    message: 'Jobs are found by a tag that they do not have.',
    advice: 'Use --fix: it makes the list anew from the Jobs.',
    remedy: 'tags',
  },
])
