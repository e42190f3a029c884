import { wireInstant } from '../../domain/wire.ts'
import { type FailureGroup, listFailures } from '../../operations/failures.ts'
import * as contract from '../contract/failures.ts'
import { ok } from './answer.ts'
import { dateOf, given } from './given.ts'
import { type Route, route } from './handler.ts'

function wireFailure(failure: FailureGroup) {
  return {
    fingerprint: failure.fingerprint,
    job_type: failure.type,
    reason: failure.reason,
    error_name: failure.errorName,
    message: failure.message,
    pattern: failure.pattern,
    count: failure.count,
    first_seen_at: wireInstant(failure.firstSeenAt),
    last_seen_at: wireInstant(failure.lastSeenAt),
    example_job_id: failure.exampleJobId,
    example_run_id: failure.exampleRunId,
  }
}

export const failureRoutes: readonly Route[] = [
  route(contract.listFailures, async ({ context, query }) => {
    const { type, since, limit } = query
    const found = await listFailures(context, given({ type, since: dateOf(since), limit }))
    return ok({
      items: found.items.map(wireFailure),
      looked_at: found.lookedAt,
      limited: found.limited,
      since: wireInstant(found.since),
    })
  }),
]
