import type { BodyOf, QueryOf, Request, RequestOptions } from '../request.ts'

export function operationsOver(request: Request) {
  return {
    /** Cancels or retries all Jobs that match, or those that are named. With `dry_run`, only says how many match. */
    start: (body: BodyOf<'POST /api/operations'>, options: RequestOptions = {}) =>
      request('POST /api/operations', { body, ...options }),
    /** With how far it is. */
    get: (operation_id: string, options: RequestOptions = {}) =>
      request('GET /api/operations/{operation_id}', { params: { operation_id }, ...options }),
    /** Newest first. */
    list: (query: QueryOf<'GET /api/operations'> = {}, options: RequestOptions = {}) =>
      request('GET /api/operations', { query, ...options }),
    /** Ends it after the page that is under way. What was done stays. */
    abort: (operation_id: string, options: RequestOptions = {}) =>
      request('POST /api/operations/{operation_id}/abort', { params: { operation_id }, ...options }),
  }
}
