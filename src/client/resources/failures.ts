import type { QueryOf, Request, RequestOptions } from '../request.ts'

/** Recent failures, those with the same cause together. */
export function failuresOver(request: Request) {
  return (query: QueryOf<'GET /api/failures'> = {}, options: RequestOptions = {}) =>
    request('GET /api/failures', { query, ...options })
}
