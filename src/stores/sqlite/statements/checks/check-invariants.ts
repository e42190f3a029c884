import type { CheckedInvariant, Finding } from '../../../../store/checks.ts'
import { findingOf } from '../../../shared/finding.ts'
import type { Connection } from '../../connection.ts'
import { isOfLibrary } from '../../errors.ts'
import { homes, limits } from './bodies.ts'
import { chains } from './chains.ts'
import { statistics, tags } from './counts.ts'
import { deliveries } from './deliveries.ts'
import { dependencies } from './dependencies.ts'
import { groups } from './groups.ts'
import { integrity } from './integrity.ts'
import { jobs, places, snapshots } from './jobs.ts'
import { apiKeys, keys } from './keys.ts'
import { lanes } from './lanes.ts'
import { policies } from './policies.ts'
import { type InvariantCheck, type Steps } from './probe.ts'
import { causes, runs } from './runs.ts'
import { schedules } from './schedules.ts'

/**
 * What the database alone can show. Not here: that an acknowledged request exists (I1), that nothing runs that was not
 * requested (I2), and that a late finish changed nothing (I6). Only somebody who wrote down what happened can tell.
 */
const CHECKS: readonly InvariantCheck[] = [
  runs,
  chains,
  jobs,
  snapshots,
  places,
  schedules,
  keys,
  limits,
  dependencies,
  groups,
  deliveries,
  homes,
  causes,
  integrity,
  statistics,
  tags,
  lanes,
  policies,
  apiKeys,
]

/** All of it must read one snapshot: whoever calls this sees to it that nothing changes between two steps. */
export function* checkInvariants(connection: Connection, now: number): Steps<CheckedInvariant[]> {
  const checked: CheckedInvariant[] = []
  for (const check of CHECKS) {
    const { invariant, title } = check
    checked.push({ invariant, title, findings: yield* examine(check, connection, now) })
  }
  return checked
}

/** A damaged database may refuse to answer. Then that is what was found, and the other checks go on. */
function* examine(check: InvariantCheck, connection: Connection, now: number): Steps<Finding[]> {
  try {
    return yield* check.examine(connection, now)
  } catch (error) {
    if (!isOfLibrary(error)) throw error
    const message = `This could not be checked: the database answered "${(error as Error).message}".`
    return [findingOf({ message, advice: 'Restore a backup: the database is damaged, or was changed by hand.' }, [])]
  }
}
