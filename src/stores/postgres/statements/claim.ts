import type { ClaimedTicket } from '../../../store/reservations.ts'
import type { Claimed, ClaimedJob, ClaimRequest } from '../../../store/runs.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'
import { claimLimited, Losses } from './claim-limited.ts'
import { surveyQueue } from './claim-survey.ts'
import { markGroupsStarted } from './members.ts'

/** Due Jobs that become ready in one claim. The rest follows with the next ones. */
const PROMOTE_MAX = 1_000

// One row: how many delayed Jobs became ready. Those that somebody else is about to change are left to the next claim.
export const PROMOTE_DUE = `
with due as materialized (
  select ctid as at
  from pawl.queue
  where not ready and not awaits_predecessor and unmet_parents = 0 and run_at <= $1
  order by run_at
  limit ${PROMOTE_MAX}
  for update skip locked
),
promoted as (
  update pawl.queue q
  set ready = true
  from due
  where q.ctid = due.at
  returning 1
)
select count(*) as promoted from promoted`

/** When others take what was chosen at the same time, a claim looks again, so often. Then it leaves the rest to them. */
export const CLAIM_ROUNDS_MAX = 8

/**
 * Claims where limits or tickets may have to be looked at. Never waits for a claim of another node: rows that one has locked
 * are passed over. What was chosen and lost is replaced by what comes next, a few times; whoever got it tells everybody when
 * it commits.
 */
export async function claimJobs(
  transaction: Transaction,
  request: ClaimRequest,
): Promise<Claimed & { readonly isLimited: boolean }> {
  await transaction.connection.runReturning(PROMOTE_DUE, request.now)
  const tickets: ClaimedTicket[] = []
  const jobs: ClaimedJob[] = []
  const losses = new Losses()
  let isLimited = false
  for (let round = 0; round < CLAIM_ROUNDS_MAX; round++) {
    const rest = withoutClaimed(request, tickets, jobs)
    if (rest.limit === 0) break
    const survey = await surveyQueue(transaction.connection, rest)
    isLimited = survey.limits.size > 0 || survey.waiting.length > 0
    const claimed = await claimLimited(transaction, rest, survey, losses)
    tickets.push(...claimed.tickets)
    jobs.push(...claimed.jobs)
    if (claimed.lost === 0) break
  }
  if (jobs.length > 0) await markGroupsStarted(transaction, jobs, request.now)
  return { tickets, jobs, isLimited }
}

export function withoutClaimed(
  request: ClaimRequest,
  tickets: readonly ClaimedTicket[],
  jobs: readonly ClaimedJob[],
): ClaimRequest {
  if (tickets.length + jobs.length === 0) return request
  const types = new Map(request.types)
  for (const { type } of jobs) types.set(type, (types.get(type) ?? 0) - 1)
  return { ...request, types, limit: request.limit - tickets.length - jobs.length }
}

const SELECT_NEXT_DUE = `
select min(run_at) as due
from pawl.queue
where not ready and not awaits_predecessor and unmet_parents = 0`

export async function nextDueAt(connection: Connection): Promise<number | null> {
  return (await connection.get<{ due: number | null }>(SELECT_NEXT_DUE))?.due ?? null
}
