import type { BodyOf, QueryOf, Request, RequestOptions } from '../request.ts'

export function groupsOver(request: Request) {
  return {
    /** Accepts a group with all its Jobs, or nothing. */
    create: (body: BodyOf<'POST /api/job-groups'>, options: RequestOptions = {}) =>
      request('POST /api/job-groups', { body, ...options }),
    /** With its status and counts. Its Jobs: `jobs.list({ group_id })`. */
    get: (group_id: string, options: RequestOptions = {}) =>
      request('GET /api/job-groups/{group_id}', { params: { group_id }, ...options }),
    /** Newest first. */
    list: (query: QueryOf<'GET /api/job-groups'> = {}, options: RequestOptions = {}) =>
      request('GET /api/job-groups', { query, ...options }),
    cancel: (
      group_id: string,
      body: BodyOf<'POST /api/job-groups/{group_id}/cancel'> = {},
      options: RequestOptions = {},
    ) => request('POST /api/job-groups/{group_id}/cancel', { params: { group_id }, body, ...options }),
  }
}
