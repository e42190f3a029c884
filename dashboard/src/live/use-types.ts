import { ask } from '../api/http.ts'
import type { JobType } from '../api/things.ts'
import { useLive } from './use-live.ts'

const TYPES_MAX = 200

/** The types that jobs can be made of, and those of history. Null while they are asked for; none if nobody could tell them. */
export function useTypes(): readonly JobType[] | null {
  const types = useLive('types', (signal) => ask('GET /api/job-types', { query: { limit: TYPES_MAX }, signal }), {
    concerns: () => false,
  })
  if (types.data !== null) return types.data.items
  return types.problem === null ? null : []
}
