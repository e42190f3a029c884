import type { RequestListener } from 'node:http'
import fastify, { type FastifyInstance } from 'fastify'
import { PawlError } from '../../domain/errors.ts'
import type { Door } from '../../library/door.ts'
import type { Scheduler } from '../../library/scheduler.ts'
import { requiresKeys } from '../../operations/api-keys.ts'
import { DOOR } from '../../operations/door.ts'
import { BODY_MAX_BYTES } from '../contract/endpoint.ts'
import { endpoints } from '../contract/index.ts'
import { routes } from '../handlers/index.ts'
import { readVersion } from '../session-door.ts'
import { leaveBasePath } from './base-path.ts'
import { Carrier, readOnlyJson } from './carrier.ts'
import { Connections } from './connections.ts'
import { Dashboard } from './dashboard.ts'
import { Doorkeeper } from './doorkeeper.ts'
import { EventStreams } from './event-streams.ts'
import { Exchanges } from './exchanges.ts'
import { Gate } from './gate.ts'
import { HostGuard } from './host-guard.ts'
import { isLoopbackHost, listen, refuseOpenHost, urlOf } from './listen-address.ts'
import { Metrics } from './metrics.ts'
import { answerNotFound } from './not-found.ts'
import { openApiDocument } from './openapi.ts'
import { OriginGuard } from './origin-guard.ts'
import { mountOwnRoutes } from './own-routes.ts'
import { PathTable } from './path-table.ts'
import { readTarget } from './request-target.ts'
import { type CheckedHttpOptions, type HttpOptions, readHttpOptions } from './server-options.ts'
import { SharedTail } from './shared-tail.ts'

/** A server that listens. */
export interface HttpServer {
  /** Such as `http://127.0.0.1:4747`. */
  readonly url: string
  readonly port: number
  /**
   * Takes no more requests, and resolves when all it has taken are answered. The scheduler is left as it is; a scheduler
   * that closes closes its servers too.
   */
  close(): Promise<void>
}

/** Longer parts of a path are no ids. */
const PATH_PART_MAX = 512

/** Serves the HTTP API of a scheduler. It neither starts nor closes the scheduler. */
export async function serveHttp(scheduler: Scheduler, options: HttpOptions = {}): Promise<HttpServer> {
  const checked = readHttpOptions(options)
  const door = scheduler[DOOR]
  const isReachable = !(await isLoopbackHost(checked.host))
  if (isReachable && !(await requiresKeys(door.context))) throw refuseOpenHost(checked.host)
  const server = new ListeningServer(door, checked)
  await server.listen()
  door.atClose(() => void server.close())
  return server
}

class ListeningServer implements HttpServer {
  readonly #options: CheckedHttpOptions
  readonly #app: FastifyInstance
  readonly #exchanges = new Exchanges()
  readonly #metrics: Metrics
  readonly #streams: EventStreams
  readonly #directs: Door['directs']
  #connections: Connections | null = null
  #port = 0
  #closed: Promise<void> | null = null

  constructor(door: Door, options: CheckedHttpOptions) {
    const { context } = door
    const logger = options.logger ?? door.logger
    const version = readVersion()
    const tail = new SharedTail({ store: context.store, clock: context.clock, logger })
    const doorkeeper = new Doorkeeper(context, logger, options.redact)
    const origins = new OriginGuard(options.allowedOrigins)
    const exchanges = this.#exchanges
    this.#options = options
    this.#directs = door.directs
    this.#metrics = new Metrics({ context, tail, logger, version })
    this.#streams = new EventStreams({ context, logger, doorkeeper, tail })
    const hosts = new HostGuard([options.host, ...options.allowedHosts])
    const { rateLimit, basePath } = options
    const dashboard = options.dashboard === null ? null : new Dashboard(options.dashboard, basePath)
    const gate = new Gate({ clock: context.clock, hosts, origins, doorkeeper, exchanges, dashboard, rateLimit })
    const carrier = new Carrier({ door, exchanges, logger, doorkeeper, basePath, behindHttps: options.behindHttps })
    const app = this.#compose(carrier)
    app.addHook('onRequest', (request, reply, pass) => gate.check(request, reply, pass))
    const paths = new PathTable()
    carrier.mount(app, routes)
    for (const { endpoint } of routes) {
      paths.add(endpoint.method, endpoint.path)
      if (endpoint.method === 'GET') paths.add('HEAD', endpoint.path)
    }
    const document = once(() => JSON.stringify(openApiDocument(endpoints, version, basePath)))
    const own = mountOwnRoutes(app, {
      door,
      exchanges,
      streams: this.#streams,
      metrics: this.#metrics,
      version,
      openApi: document,
      isClosing: () => this.#closed !== null,
    })
    for (const [path, methods] of own) for (const method of methods) paths.add(method, path)
    app.setNotFoundHandler((request, reply) => {
      if (dashboard?.serves(request.raw) !== true) return answerNotFound(paths, origins, request, reply)
      exchanges.of(reply.raw).route = '/'
      return dashboard.answer(request.raw, reply)
    })
    this.#app = app
  }

  get port(): number {
    return this.#port
  }

  get url(): string {
    return urlOf(this.#options.host, this.#port)
  }

  async listen(): Promise<void> {
    await this.#app.ready()
    const { host, port } = this.#options
    const { server } = this.#connections as Connections
    this.#port = await listen(server, host, port)
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  #compose(carrier: Carrier): FastifyInstance {
    const app = fastify({
      logger: false,
      bodyLimit: BODY_MAX_BYTES,
      routerOptions: { maxParamLength: PATH_PART_MAX },
      frameworkErrors: (error, request, reply) => void carrier.fail(error, request, reply),
      serverFactory: (handler) => {
        this.#connections = new Connections(this.#timed(handler))
        return this.#connections.server
      },
      clientErrorHandler: (error, socket) => this.#connections?.refuseGarbage(error, socket),
    })
    readOnlyJson(app)
    app.setErrorHandler(carrier.fail)
    return app
  }

  #timed(handler: RequestListener): RequestListener {
    return (request, response) => {
      readTarget(request)
      leaveBasePath(request, this.#options.basePath)
      this.#exchanges.begin(request, response, this.#metrics.time())
      handler(request, response)
    }
  }

  async #close(): Promise<void> {
    this.#exchanges.beginClosing()
    this.#streams.end()
    this.#metrics.close()
    const exchanges = this.#exchanges
    const notServed = new PawlError('shutting_down', 'This server is shutting down. Nothing was executed; try again.')
    const noMoreTime = new PawlError('shutting_down', 'This server is shutting down and could not wait any longer.')
    await this.#connections?.close(this.#options.shutdownTimeoutMs, {
      // Who has only a ticket is served sooner elsewhere than by waiting here for the end.
      letGo: () => this.#directs.dismissWaiting(exchanges.signals, notServed),
      giveUp: () => exchanges.giveUp(noMoreTime),
    })
    await this.#app.close()
  }
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
