import type { Answered } from '../../../src/client/request.ts'
import { ask, type Query } from './http.ts'

/** A page of jobs. `limited`: it is short because the server looked at as many rows as it may. */
export function listJobs(query: Query, signal: AbortSignal): Promise<Answered<'GET /api/jobs'>> {
  return ask('GET /api/jobs', { query: query as never, signal })
}
