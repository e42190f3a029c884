import type { BodyOf, QueryOf, Request, RequestOptions } from '../request.ts'

/** Executes a type now, in the next free place and before the queue, and answers with its result. */
export function directOver(request: Request) {
  return (type: string, body: BodyOf<'POST /api/direct/{type}'> = {}, options: RequestOptions = {}) =>
    request('POST /api/direct/{type}', { params: { type }, body, ...options })
}

export function reservationsOver(request: Request) {
  return {
    get: (reservation_id: string, options: RequestOptions = {}) =>
      request('GET /api/reservations/{reservation_id}', { params: { reservation_id }, ...options }),
    /** Direct executions, waiting, running and ended, newest first. */
    list: (query: QueryOf<'GET /api/reservations'> = {}, options: RequestOptions = {}) =>
      request('GET /api/reservations', { query, ...options }),
  }
}
