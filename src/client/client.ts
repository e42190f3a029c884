import { httpTransport } from './http-transport.ts'
import { type BodyOf, type QueryOf, type Request, requestThrough } from './request.ts'
import type { Transport } from './transport.ts'

export interface ClientOptions {
  /** Where the server is, such as `http://127.0.0.1:4747`. */
  readonly server: string
  /** A key made by `pawl keys create`, where the server asks for one. */
  readonly apiKey?: string
}

export type Client = ReturnType<typeof clientOver>

/** A client of a Pawl server. */
export function createClient(options: ClientOptions): Client {
  return clientOver(httpTransport(options))
}

/** The same over whichever way to the API. */
export function clientOver(transport: Transport) {
  const request = requestThrough(transport)
  return {
    description: transport.description,
    request,
    events: transport.events.bind(transport),
    jobs: jobsOver(request),
  }
}

function jobsOver(request: Request) {
  return {
    enqueue: (body: BodyOf<'POST /api/jobs'>) => request('POST /api/jobs', { body }),
    get: (job_id: string) => request('GET /api/jobs/{job_id}', { params: { job_id } }),
    list: (query: QueryOf<'GET /api/jobs'> = {}) => request('GET /api/jobs', { query }),
  }
}
