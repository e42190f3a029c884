import { type Clock, systemClock } from '../platform/clock.ts'
import { allItems } from './all-items.ts'
import { type EventOptions, followEvents } from './follow-events.ts'
import { type HttpTransportOptions, httpTransport } from './http-transport.ts'
import { type Request, requestThrough } from './request.ts'
import { directOver, reservationsOver } from './resources/direct.ts'
import { failuresOver } from './resources/failures.ts'
import { groupsOver } from './resources/groups.ts'
import { jobsOver } from './resources/jobs.ts'
import { operationsOver } from './resources/operations.ts'
import { runsOver } from './resources/runs.ts'
import { schedulesOver } from './resources/schedules.ts'
import * as store from './resources/store.ts'
import { templatesOver } from './resources/templates.ts'
import { deliveriesOver, webhooksOver } from './resources/webhooks.ts'
import type { Transport } from './transport.ts'

export type ClientOptions = HttpTransportOptions

/** Everything that the API can be asked. */
export type Client = ReturnType<typeof clientOver>

/** A client of a Pawl server. */
export function createClient(options: ClientOptions): Client {
  return clientOver(httpTransport(options), options.clock)
}

/** The same over whichever way to the API. */
export function clientOver(transport: Transport, clock: Clock = systemClock) {
  const answer = requestThrough(transport)
  const request: Request = async (route, given) => (await answer(route, given)).body
  return {
    /** What it talks to, for messages. */
    description: transport.description,
    /** Any endpoint by its name: `request('GET /api/jobs/{job_id}', { params: { job_id } })`. */
    request,
    /** The same with the status and the `ETag` of the answer. */
    answer,
    /** All items of a list, page after page: `for await (const job of client.all(client.jobs.list, { type: 'story' }))`. */
    all: allItems,
    /** Every transition that any process makes on the store, in order; goes on by itself when the server was away. */
    events: (options: EventOptions = {}) => followEvents(transport, clock, options),
    jobs: jobsOver(request),
    runs: runsOver(request),
    failures: failuresOver(request),
    templates: templatesOver(request),
    schedules: schedulesOver(request),
    groups: groupsOver(request),
    operations: operationsOver(request),
    direct: directOver(request),
    reservations: reservationsOver(request),
    webhooks: webhooksOver(request),
    deliveries: deliveriesOver(request),
    scheduler: store.schedulerOver(request),
    nodes: store.nodesOver(request),
    types: store.typesOver(request),
    limits: store.limitsOver(request),
    keys: store.keysOver(request),
    session: store.sessionOver(request),
    audit: store.auditOver(request),
    statistics: store.statisticsOver(request),
    prune: store.pruneOver(request),
  }
}
