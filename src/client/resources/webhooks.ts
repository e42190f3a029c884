import type { BodyOf, QueryOf, Request, RequestOptions } from '../request.ts'

export function webhooksOver(request: Request) {
  return {
    /** The answer has the secret, which is shown this once. */
    create: (body: BodyOf<'POST /api/webhooks'>, options: RequestOptions = {}) =>
      request('POST /api/webhooks', { body, ...options }),
    get: (webhook_id: string, options: RequestOptions = {}) =>
      request('GET /api/webhooks/{webhook_id}', { params: { webhook_id }, ...options }),
    /** Newest first. */
    list: (query: QueryOf<'GET /api/webhooks'> = {}, options: RequestOptions = {}) =>
      request('GET /api/webhooks', { query, ...options }),
    change: (webhook_id: string, body: BodyOf<'PATCH /api/webhooks/{webhook_id}'>, options: RequestOptions = {}) =>
      request('PATCH /api/webhooks/{webhook_id}', { params: { webhook_id }, body, ...options }),
    remove: (webhook_id: string, options: RequestOptions = {}) =>
      request('DELETE /api/webhooks/{webhook_id}', { params: { webhook_id }, ...options }),
    rotateSecret: (webhook_id: string, options: RequestOptions = {}) =>
      request('POST /api/webhooks/{webhook_id}/rotate-secret', { params: { webhook_id }, body: {}, ...options }),
    /** Sends all ended deliveries with this status again. */
    replay: (
      webhook_id: string,
      body: BodyOf<'POST /api/webhooks/{webhook_id}/replay'>,
      options: RequestOptions = {},
    ) => request('POST /api/webhooks/{webhook_id}/replay', { params: { webhook_id }, body, ...options }),
    /** What was sent to it, newest first. */
    deliveries: (
      webhook_id: string,
      query: QueryOf<'GET /api/webhooks/{webhook_id}/deliveries'> = {},
      options: RequestOptions = {},
    ) => request('GET /api/webhooks/{webhook_id}/deliveries', { params: { webhook_id }, query, ...options }),
    /** The secret that signs what is sent to the `webhook_url` of Jobs. */
    defaultSecret: (options: RequestOptions = {}) => request('GET /api/webhook-secret', options),
    rotateDefaultSecret: (options: RequestOptions = {}) =>
      request('POST /api/webhook-secret/rotate', { body: {}, ...options }),
  }
}

export function deliveriesOver(request: Request) {
  return {
    get: (delivery_id: string, options: RequestOptions = {}) =>
      request('GET /api/webhook-deliveries/{delivery_id}', { params: { delivery_id }, ...options }),
    /** Newest first. */
    list: (query: QueryOf<'GET /api/webhook-deliveries'> = {}, options: RequestOptions = {}) =>
      request('GET /api/webhook-deliveries', { query, ...options }),
    replay: (delivery_id: string, options: RequestOptions = {}) =>
      request('POST /api/webhook-deliveries/{delivery_id}/replay', { params: { delivery_id }, body: {}, ...options }),
  }
}
