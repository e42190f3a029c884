// Compares what was written down outside of the system with what the database says in the end. Each sentence begins with the
// invariant that it contradicts: they are listed in ARCHITECTURE.md.
import { bodiesBelongToRuns, runsHaveCauses } from './bodies.ts'
import { chainsAreWhole, everythingHasEnded, jobsEndedOnce } from './chains.ts'
import { childrenBeganAfterParents, groupsAreCounted } from './composition.ts'
import { cancelsWereHeeded, refusalsAreThoseToExpect, retriesWereMade } from './deeds.ts'
import { callersHeardTheTruth, directsRanOnce, ticketsCameInOrder } from './directs.ts'
import { type Check, type Evidence, Facts } from './facts.ts'
import { businessKeysHadOneHolder } from './keys.ts'
import { limitsHeld } from './limits.ts'
import { claimsFollowedTheOrder } from './order.ts'
import { outcomesAreThoseOrdered } from './outcomes.ts'
import { acknowledgedJobsExist, followUpsCameWithOutcomes, requestsMadeOneChainEach } from './requests.ts'
import { slotsMadeOneJobEach } from './schedules.ts'
import { whatEndedNeverChanged } from './sightings.ts'
import { nothingBeganEarly } from './times.ts'
import { eventsWereTold } from './webhooks.ts'

export type { Evidence } from './facts.ts'

/** So many of each kind are told; a broken rule is often broken thousands of times. */
const TOLD_MAX = 5

const CHECKS: readonly Check[] = [
  acknowledgedJobsExist,
  requestsMadeOneChainEach,
  followUpsCameWithOutcomes,
  everythingHasEnded,
  jobsEndedOnce,
  chainsAreWhole,
  bodiesBelongToRuns,
  runsHaveCauses,
  outcomesAreThoseOrdered,
  whatEndedNeverChanged,
  claimsFollowedTheOrder,
  slotsMadeOneJobEach,
  businessKeysHadOneHolder,
  limitsHeld,
  directsRanOnce,
  callersHeardTheTruth,
  ticketsCameInOrder,
  childrenBeganAfterParents,
  groupsAreCounted,
  nothingBeganEarly,
  eventsWereTold,
  cancelsWereHeeded,
  retriesWereMade,
  refusalsAreThoseToExpect,
]

/** Everything that contradicts what Pawl promises, one sentence each. */
export function findContradictions(evidence: Evidence): string[] {
  const facts = new Facts(evidence)
  return CHECKS.flatMap((check) => {
    const found = [...check(facts)]
    const rest = found.length - TOLD_MAX
    return rest > 0 ? [...found.slice(0, TOLD_MAX), `… and ${rest} more of this kind`] : found
  })
}
