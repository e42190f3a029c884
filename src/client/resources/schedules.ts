import type { BodyOf, QueryOf, Request, RequestOptions } from '../request.ts'

export function schedulesOver(request: Request) {
  return {
    create: (body: BodyOf<'POST /api/schedules'>, options: RequestOptions = {}) =>
      request('POST /api/schedules', { body, ...options }),
    get: (schedule_id: string, options: RequestOptions = {}) =>
      request('GET /api/schedules/{schedule_id}', { params: { schedule_id }, ...options }),
    /** Newest first. */
    list: (query: QueryOf<'GET /api/schedules'> = {}, options: RequestOptions = {}) =>
      request('GET /api/schedules', { query, ...options }),
    change: (schedule_id: string, body: BodyOf<'PATCH /api/schedules/{schedule_id}'>, options: RequestOptions = {}) =>
      request('PATCH /api/schedules/{schedule_id}', { params: { schedule_id }, body, ...options }),
    enable: (schedule_id: string, options: RequestOptions = {}) =>
      request('PATCH /api/schedules/{schedule_id}', { params: { schedule_id }, body: { enabled: true }, ...options }),
    disable: (schedule_id: string, options: RequestOptions = {}) =>
      request('PATCH /api/schedules/{schedule_id}', { params: { schedule_id }, body: { enabled: false }, ...options }),
    remove: (schedule_id: string, options: RequestOptions = {}) =>
      request('DELETE /api/schedules/{schedule_id}', { params: { schedule_id }, ...options }),
    /** Makes one Job of it now. */
    trigger: (schedule_id: string, options: RequestOptions = {}) =>
      request('POST /api/schedules/{schedule_id}/trigger', { params: { schedule_id }, body: {}, ...options }),
    /** Its next slots. */
    preview: (
      schedule_id: string,
      query: QueryOf<'GET /api/schedules/{schedule_id}/preview'> = {},
      options: RequestOptions = {},
    ) => request('GET /api/schedules/{schedule_id}/preview', { params: { schedule_id }, query, ...options }),
    /** The slots that a schedule with this timing would have. */
    previewTiming: (body: BodyOf<'POST /api/schedules/preview'>, options: RequestOptions = {}) =>
      request('POST /api/schedules/preview', { body, ...options }),
    /** Slots that made no Job, with the reason. */
    skipped: (
      schedule_id: string,
      query: QueryOf<'GET /api/schedules/{schedule_id}/skipped'> = {},
      options: RequestOptions = {},
    ) => request('GET /api/schedules/{schedule_id}/skipped', { params: { schedule_id }, query, ...options }),
  }
}
