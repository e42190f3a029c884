import type { BodyOf, QueryOf, Request, RequestOptions } from '../request.ts'

export function runsOver(request: Request) {
  return {
    get: (run_id: string, options: RequestOptions = {}) =>
      request('GET /api/job-runs/{run_id}', { params: { run_id }, ...options }),
    /** The latest first. */
    list: (query: QueryOf<'GET /api/job-runs'> = {}, options: RequestOptions = {}) =>
      request('GET /api/job-runs', { query, ...options }),
    /** Tries its chain again, if it was the last Run and failed. */
    retry: (run_id: string, body: BodyOf<'POST /api/job-runs/{run_id}/retry'> = {}, options: RequestOptions = {}) =>
      request('POST /api/job-runs/{run_id}/retry', { params: { run_id }, body, ...options }),
    /** What its child process printed, from the byte `after` on. */
    output: (run_id: string, query: QueryOf<'GET /api/job-runs/{run_id}/output'> = {}, options: RequestOptions = {}) =>
      request('GET /api/job-runs/{run_id}/output', { params: { run_id }, query, ...options }),
    logs: (run_id: string, query: QueryOf<'GET /api/job-runs/{run_id}/logs'> = {}, options: RequestOptions = {}) =>
      request('GET /api/job-runs/{run_id}/logs', { params: { run_id }, query, ...options }),
  }
}
