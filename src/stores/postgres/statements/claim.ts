import type { ClaimedTicket } from '../../../store/reservations.ts'
import type { Claimed, ClaimedJob, ClaimRequest } from '../../../store/runs.ts'
import type { Transaction } from '../transaction.ts'
import { claimLimited, Losses } from './claim-limited.ts'
import { surveyQueue } from './claim-survey.ts'
import { PROMOTE_DUE } from './due.ts'
import { markGroupsStarted } from './members.ts'

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
  const { connection } = transaction
  const tickets: ClaimedTicket[] = []
  const jobs: ClaimedJob[] = []
  const losses = new Losses()
  let isLimited = false
  for (let round = 0; round < CLAIM_ROUNDS_MAX; round++) {
    const rest = withoutClaimed(request, tickets, jobs)
    if (rest.limit === 0) break
    let survey = await surveyQueue(connection, rest)
    if (survey.isDue && round === 0) {
      await connection.runReturning(PROMOTE_DUE, request.now)
      survey = await surveyQueue(connection, rest)
    }
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
