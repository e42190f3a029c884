import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Door } from '../../library/door.ts'
import { problem, problemOf } from '../problems.ts'
import type { EventStreams } from './event-streams.ts'
import type { Exchanges } from './exchanges.ts'
import type { Metrics } from './metrics.ts'
import { sendAnswer, sendProblem, sendText } from './send.ts'

export interface OwnRoutesParts {
  readonly door: Door
  readonly exchanges: Exchanges
  readonly streams: EventStreams
  readonly metrics: Metrics
  readonly version: string
  readonly openApi: () => string
  readonly isClosing: () => boolean
}

type OwnMethods = readonly (readonly [path: string, methods: readonly string[]])[]

const OWN_METHODS: OwnMethods = [
  ['/health', ['GET', 'HEAD']],
  ['/ready', ['GET', 'HEAD']],
  ['/metrics', ['GET', 'HEAD']],
  ['/openapi.json', ['GET', 'HEAD']],
  // Without HEAD: the headers of a stream come with the stream.
  ['/api/events', ['GET']],
]

/** The paths that are no endpoints of the contract, because they answer in a way of their own. Answers with what they take. */
export function mountOwnRoutes(app: FastifyInstance, parts: OwnRoutesParts): OwnMethods {
  const { exchanges, streams, metrics, version, openApi } = parts
  const get = (path: string, answer: (reply: FastifyReply) => Promise<FastifyReply> | FastifyReply) =>
    app.get(path, async (_request, reply) => {
      exchanges.of(reply.raw).route = path
      return answer(reply)
    })

  get('/health', (reply) => sendAnswer(reply, { status: 200, body: { status: 'ok', version }, headers: {} }))
  get('/ready', (reply) => answerReady(reply, parts))
  get('/metrics', async (reply) =>
    sendText(reply, { status: 200, text: await metrics.render(), type: metrics.contentType }),
  )
  get('/openapi.json', (reply) =>
    sendText(reply, { status: 200, text: openApi(), type: 'application/json; charset=utf-8' }),
  )
  app.get('/api/events', { exposeHeadRoute: false }, async (request, reply) => {
    const exchange = exchanges.of(reply.raw)
    exchange.route = '/api/events'
    await streams.open(request, reply)
    exchange.isStream = true
    return reply
  })
  return OWN_METHODS
}

async function answerReady(reply: FastifyReply, { door, isClosing }: OwnRoutesParts): Promise<FastifyReply> {
  if (isClosing() || door.node.isClosing) {
    return sendProblem(reply, problem('shutting_down', 'This server is shutting down.'))
  }
  try {
    await door.context.store.lastEventSeq()
    return sendAnswer(reply, { status: 200, body: { status: 'ready' }, headers: {} })
  } catch (error) {
    return sendProblem(reply, problemOf(error))
  }
}
