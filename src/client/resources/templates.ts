import type { BodyOf, QueryOf, Request, RequestOptions } from '../request.ts'

export function templatesOver(request: Request) {
  return {
    create: (body: BodyOf<'POST /api/job-templates'>, options: RequestOptions = {}) =>
      request('POST /api/job-templates', { body, ...options }),
    get: (template_id: string, options: RequestOptions = {}) =>
      request('GET /api/job-templates/{template_id}', { params: { template_id }, ...options }),
    /** Newest first; archived ones only where `state` says so. */
    list: (query: QueryOf<'GET /api/job-templates'> = {}, options: RequestOptions = {}) =>
      request('GET /api/job-templates', { query, ...options }),
    change: (
      template_id: string,
      body: BodyOf<'PATCH /api/job-templates/{template_id}'>,
      options: RequestOptions = {},
    ) => request('PATCH /api/job-templates/{template_id}', { params: { template_id }, body, ...options }),
    /** No new Jobs are made from it. */
    archive: (template_id: string, options: RequestOptions = {}) =>
      request('DELETE /api/job-templates/{template_id}', { params: { template_id }, ...options }),
  }
}
