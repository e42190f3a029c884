import { ask } from '../api/http.ts'
import type { JobType } from '../api/things.ts'
import { useLive } from './use-live.ts'

const TYPES_MAX = 200

/** The types that jobs can be made of, and those of history. Null until they are known. */
export function useTypes(): readonly JobType[] | null {
  const types = useLive('types', (signal) => ask('GET /api/job-types', { query: { limit: TYPES_MAX }, signal }), {
    concerns: () => false,
  })
  return types.data?.items ?? null
}
