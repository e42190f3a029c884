import { findingOf } from '../../../shared/finding.ts'
import { readTotals } from '../statistics.ts'
import { checkOf, type InvariantCheck } from './probe.ts'

const COUNT_ENDED = `
select count(*) as executed, count(*) filter (where status = 'COMPLETED') as completed,
  count(*) filter (where status = 'FAILED') as failed, count(*) filter (where status = 'SKIPPED') as skipped
from pawl.runs
where status is not null`

const COUNT_CANCELLED = `
select count(*) as cancelled
from pawl.jobs
where cancelled_at is not null`

export const statistics: InvariantCheck = {
  invariant: 'statistics',
  title: 'The statistics count at least what the history still holds.',
  async examine(connection) {
    const counted: Record<string, number> = {
      ...(await connection.get<Record<string, number>>(COUNT_ENDED)),
      ...(await connection.get<Record<string, number>>(COUNT_CANCELLED)),
    }
    // Pruning takes from the history, never from the statistics.
    const tooLow = Object.entries(await readTotals(connection))
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

/** The tags of a Job `j`, none if they cannot be read. */
const TAGS_OF_JOB = `
  json_array_elements_text(
    case when pawl.is_json(j.tags) then case json_typeof(j.tags::json) when 'array' then j.tags::json end end
  )`

/** Tags `t` of Jobs `j` by which the Job is not found. */
export const FROM_LACKING_TAGS = `
from pawl.jobs j
cross join lateral ${TAGS_OF_JOB} as t (tag)
where j.tags is not null
  and not exists (select 1 from pawl.job_tags found where found.tag = t.tag and found.seq = j.seq)`

const SELECT_NOT_FOUND_BY_TAG = `select j.job_id as id ${FROM_LACKING_TAGS}`

/** A row `g` that lists a Job under a tag that it has not. */
export const IS_WRONG_TAG = `
  not exists (
    select 1
    from pawl.jobs j
    cross join lateral ${TAGS_OF_JOB} as t (tag)
    where j.seq = g.seq and t.tag = g.tag
  )`

const SELECT_WRONG_TAGS = `
select g.tag || ' of job number ' || g.seq as id
from pawl.job_tags g
where ${IS_WRONG_TAG}`

export const tags = checkOf('tags', 'Jobs are found by the tags they have, and by no others.', [
  {
    sql: SELECT_NOT_FOUND_BY_TAG,
    message: 'Jobs are not found by one of their tags.',
    advice: 'Use --fix: it makes the list anew from the Jobs.',
    remedy: 'tags',
  },
  {
    sql: SELECT_WRONG_TAGS,
    message: 'Jobs are found by a tag that they do not have.',
    advice: 'Use --fix: it makes the list anew from the Jobs.',
    remedy: 'tags',
  },
])
