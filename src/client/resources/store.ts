import type { BodyOf, QueryOf, Request, RequestOptions } from '../request.ts'

/** The node that answers. */
export function schedulerOver(request: Request) {
  return {
    status: (options: RequestOptions = {}) => request('GET /api/scheduler/status', options),
    start: (options: RequestOptions = {}) => request('POST /api/scheduler/start', { body: {}, ...options }),
    /** `timeout`: how many seconds it waits for what executes. */
    stop: (body: BodyOf<'POST /api/scheduler/stop'> = {}, options: RequestOptions = {}) =>
      request('POST /api/scheduler/stop', { body, ...options }),
  }
}

export function nodesOver(request: Request) {
  return {
    list: (query: QueryOf<'GET /api/nodes'> = {}, options: RequestOptions = {}) =>
      request('GET /api/nodes', { query, ...options }),
  }
}

export function typesOver(request: Request) {
  return {
    list: (query: QueryOf<'GET /api/job-types'> = {}, options: RequestOptions = {}) =>
      request('GET /api/job-types', { query, ...options }),
  }
}

export function limitsOver(request: Request) {
  return {
    list: (query: QueryOf<'GET /api/limits'> = {}, options: RequestOptions = {}) =>
      request('GET /api/limits', { query, ...options }),
    /** `running`, `type:<name>` or `resource:<name>`. */
    set: (name: string, max: number, options: RequestOptions = {}) =>
      request('PUT /api/limits/{name}', { params: { name }, body: { max }, ...options }),
    remove: (name: string, options: RequestOptions = {}) =>
      request('DELETE /api/limits/{name}', { params: { name }, ...options }),
  }
}

export function keysOver(request: Request) {
  return {
    /** The answer has the key, which is shown this once. */
    create: (body: BodyOf<'POST /api/keys'>, options: RequestOptions = {}) =>
      request('POST /api/keys', { body, ...options }),
    list: (query: QueryOf<'GET /api/keys'> = {}, options: RequestOptions = {}) =>
      request('GET /api/keys', { query, ...options }),
    revoke: (key_id: string, options: RequestOptions = {}) =>
      request('DELETE /api/keys/{key_id}', { params: { key_id }, ...options }),
  }
}

/** Who asks. Logging in is for browsers, which keep the cookie; a program gives its key with each request. */
export function sessionOver(request: Request) {
  return {
    get: (options: RequestOptions = {}) => request('GET /api/session', options),
    open: (key: string, options: RequestOptions = {}) => request('POST /api/session', { body: { key }, ...options }),
    close: (options: RequestOptions = {}) => request('DELETE /api/session', options),
  }
}

export function auditOver(request: Request) {
  return {
    /** Who changed what, newest first. */
    list: (query: QueryOf<'GET /api/audit'> = {}, options: RequestOptions = {}) =>
      request('GET /api/audit', { query, ...options }),
  }
}

/** What came of all Jobs, the last 24 hours, and the queue. `recent`: the last hour by the minute. */
export function statisticsOver(request: Request) {
  const all = (options: RequestOptions = {}) => request('GET /api/statistics', options)
  return Object.assign(all, {
    recent: (options: RequestOptions = {}) => request('GET /api/statistics/recent', options),
  })
}

/** Removes what has settled for so long; with `dry_run` it only counts. */
export function pruneOver(request: Request) {
  return (body: BodyOf<'POST /api/prune'>, options: RequestOptions = {}) =>
    request('POST /api/prune', { body, ...options })
}
