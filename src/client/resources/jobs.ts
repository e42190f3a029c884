import type { BodyOf, QueryOf, Request, RequestOptions } from '../request.ts'

export function jobsOver(request: Request) {
  return {
    /** Accepts one Job. Resolves with the first one where the idempotency key was used before. */
    enqueue: (body: BodyOf<'POST /api/jobs'>, options: RequestOptions = {}) =>
      request('POST /api/jobs', { body, ...options }),
    /** Accepts all of them or none. Others of the list may be named as `#` and their `ref`. */
    bulk: (jobs: BodyOf<'POST /api/jobs/bulk'>['jobs'], options: RequestOptions = {}) =>
      request('POST /api/jobs/bulk', { body: { jobs }, ...options }),
    get: (job_id: string, options: RequestOptions = {}) =>
      request('GET /api/jobs/{job_id}', { params: { job_id }, ...options }),
    /** Newest first; with the status QUEUED, in the order of the queue. */
    list: (query: QueryOf<'GET /api/jobs'> = {}, options: RequestOptions = {}) =>
      request('GET /api/jobs', { query, ...options }),
    /** Changes a QUEUED Job. */
    edit: (job_id: string, body: BodyOf<'PATCH /api/jobs/{job_id}'>, options: RequestOptions = {}) =>
      request('PATCH /api/jobs/{job_id}', { params: { job_id }, body, ...options }),
    /** `{ to: 'front' }`, `{ to: 'back' }`, `{ before: jobId }` or `{ after: jobId }`. */
    move: (job_id: string, target: BodyOf<'POST /api/jobs/{job_id}/move'>, options: RequestOptions = {}) =>
      request('POST /api/jobs/{job_id}/move', { params: { job_id }, body: target, ...options }),
    /** Cancels the live Job of the chain. One that executes is RUNNING still in the answer. */
    cancel: (job_id: string, body: BodyOf<'POST /api/jobs/{job_id}/cancel'> = {}, options: RequestOptions = {}) =>
      request('POST /api/jobs/{job_id}/cancel', { params: { job_id }, body, ...options }),
    /** Cancels a Job that has not started, and no other. */
    remove: (job_id: string, options: RequestOptions = {}) =>
      request('DELETE /api/jobs/{job_id}', { params: { job_id }, ...options }),
    /** Tries a failed or cancelled chain again. */
    retry: (job_id: string, body: BodyOf<'POST /api/jobs/{job_id}/retry'> = {}, options: RequestOptions = {}) =>
      request('POST /api/jobs/{job_id}/retry', { params: { job_id }, body, ...options }),
    /** Its Run: none or one. */
    runs: (job_id: string, query: QueryOf<'GET /api/jobs/{job_id}/runs'> = {}, options: RequestOptions = {}) =>
      request('GET /api/jobs/{job_id}/runs', { params: { job_id }, query, ...options }),
    /** It and all its retries, oldest first. */
    chain: (job_id: string, options: RequestOptions = {}) =>
      request('GET /api/jobs/{job_id}/chain', { params: { job_id }, ...options }),
    /** Of each chain that depends on its chain the latest Job. */
    children: (job_id: string, query: QueryOf<'GET /api/jobs/{job_id}/children'> = {}, options: RequestOptions = {}) =>
      request('GET /api/jobs/{job_id}/children', { params: { job_id }, query, ...options }),
    /** How many stand where, counted up to 10,000 each. */
    counts: (options: RequestOptions = {}) => request('GET /api/jobs/counts', options),
    /** Why it is not running, where it runs, or how and why it ended. */
    why: (job_id: string, options: RequestOptions = {}) =>
      request('GET /api/jobs/{job_id}/why', { params: { job_id }, ...options }),
    /** What its handler logged. */
    logs: (job_id: string, query: QueryOf<'GET /api/jobs/{job_id}/logs'> = {}, options: RequestOptions = {}) =>
      request('GET /api/jobs/{job_id}/logs', { params: { job_id }, query, ...options }),
    /** What its child process printed, from the byte `after` on. */
    output: (job_id: string, query: QueryOf<'GET /api/jobs/{job_id}/output'> = {}, options: RequestOptions = {}) =>
      request('GET /api/jobs/{job_id}/output', { params: { job_id }, query, ...options }),
  }
}
