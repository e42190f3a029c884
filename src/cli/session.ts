import type { Client } from '../client/index.ts'
import type { Transport } from '../client/transport.ts'
import type { Clock } from '../platform/clock.ts'
import type { Logger } from '../platform/logger.ts'
import type { StoreSource, StoreState } from '../store/store.ts'
import { CliError, usageError } from './cli-error.ts'
import type { LoadedConfig } from './config.ts'
import type { OpenedStore } from './open-store.ts'
import type { StoreTarget, Target } from './target.ts'

/**
 * `read`: the database must be there and have the present schema, and no configuration is needed. `change`: it must be there
 * too, and the types of the configuration are known. `create`: it is made where it is missing. `ask`: the answer depends on
 * no store at all, so an empty one in memory will do. `local`: nor does this, only on the configuration.
 */
export type Access = 'read' | 'change' | 'create' | 'ask' | 'local'

/** An open way to the API, over HTTP or straight on a store. */
export interface Session {
  readonly client: Client
  readonly target: Target
  close(): Promise<void>
}

export interface SessionOptions {
  readonly target: Target
  readonly access: Access
  readonly config: () => Promise<LoadedConfig | null>
  readonly user: string
  readonly logger: Logger
  readonly clock: Clock
  /** Ends what is under way when the person at the terminal wants so. */
  readonly signal: AbortSignal
}

export async function openSession(options: SessionOptions): Promise<Session> {
  const { target, signal, clock } = options
  const { clientOver } = await import('../client/index.ts')
  if (target.kind === 'server') {
    const { httpTransport } = await import('../client/http-transport.ts')
    const { url, apiKey } = target
    const transport = withDeadline(httpTransport({ server: url, ...(apiKey !== undefined && { apiKey }) }), clock)
    return { client: clientOver(endingWith(transport, signal)), target, close: async () => {} }
  }
  const { transport, close } = await openStoreOf(options, target)
  return { client: clientOver(endingWith(leaving(transport), signal)), target, close }
}

async function openStoreOf(
  { access, config, user, logger }: SessionOptions,
  target: StoreTarget,
): Promise<OpenedStore> {
  const state = await target.source.inspect()
  if (access === 'read') refuseOutdated(target, refuseMissing(target, state))
  if (access === 'change') refuseMissing(target, state)
  const { openStore } = await import('./open-store.ts')
  const { sqlite } = await import('../stores/sqlite/index.ts')
  const loaded = access === 'read' || access === 'ask' ? null : await config()
  const open = (source: StoreSource) => openStore({ source, config: loaded, user, logger })
  if (access === 'ask' || access === 'local') return open(sqlite(':memory:'))
  if (access === 'create' && state.kind === 'missing') return rehearsed(open, target.source, sqlite(':memory:'))
  return open(target.source)
}

/**
 * Where there is no database yet, one is made only for a request that is not refused: an empty one in memory is asked first.
 * What only reads gets its answer from there; nothing else could be said.
 */
async function rehearsed(
  open: (source: StoreSource) => Promise<OpenedStore>,
  source: StoreSource,
  empty: StoreSource,
): Promise<OpenedStore> {
  const rehearsal = await open(empty)
  let real: OpenedStore | null = null
  const send: Transport['send'] = async (request) => {
    if (real === null) {
      const answer = await rehearsal.transport.send(request)
      if (answer.status >= 400 || request.route.startsWith('GET ')) return answer
      real = await open(source)
    }
    return real.transport.send(request)
  }
  return {
    transport: {
      description: rehearsal.transport.description,
      send,
      events: (options) => (real ?? rehearsal).transport.events(options),
    },
    close: async () => {
      await rehearsal.close()
      await real?.close()
    },
  }
}

/** What only reads or changes what is there must not leave an empty database behind. */
export function refuseMissing(target: StoreTarget, state: StoreState): StoreState {
  if (state.kind !== 'missing') return state
  throw new CliError(
    `There is no ${whatIsMissing(state)} yet: ${target.description}. Name another with --store, or make this one with \`pawl migrate\`, \`pawl serve\` or \`pawl enqueue\`.`,
    { code: 'database_missing' },
  )
}

/** On a server the database is there, but Pawl may have nothing in it. */
export function whatIsMissing({ description }: StoreState): string {
  return description.startsWith('postgres ') ? 'schema of Pawl' : 'database'
}

/** Nor may it migrate one: processes of the older Pawl may still work on it, and there is no way back. */
export function refuseOutdated(target: StoreTarget, { kind, version, latest }: StoreState, advice = ''): void {
  if (kind !== 'older') return
  throw new CliError(
    `${capitalised(target.description)} has schema version ${version}, this Pawl works with ${latest}: run \`pawl migrate\`.${advice}`,
    { code: 'schema_outdated' },
  )
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

const ANSWER_WITHIN_MS = 30_000

/** These work as long as they need to. */
const UNHURRIED = ['POST /api/direct/{type}', 'POST /api/prune']

/** A server that takes the question but never answers must not be waited for without end. */
function withDeadline(transport: Transport, clock: Clock): Transport {
  const send: Transport['send'] = async (request) => {
    if (UNHURRIED.includes(request.route)) return transport.send(request)
    const { signal } = request
    const deadline = new AbortController()
    const leave = (): void => deadline.abort(signal?.reason)
    signal?.addEventListener('abort', leave, { once: true })
    if (signal?.aborted === true) leave()
    const timer = clock.after(ANSWER_WITHIN_MS, () => deadline.abort(unanswered(transport.description)))
    try {
      return await transport.send({ ...request, signal: deadline.signal })
    } finally {
      timer.cancel()
      signal?.removeEventListener('abort', leave)
    }
  }
  return { description: transport.description, send, events: (options) => transport.events(options) }
}

function unanswered(server: string): CliError {
  return new CliError(
    `${server} has not answered within ${ANSWER_WITHIN_MS / 1_000} s. Check that it is a Pawl server, and that it is not overloaded. What was asked for may have been done.`,
    { code: 'server_unreachable' },
  )
}

/** A store does not know of signals while it waits for the lock of another process. A direct execution does, and tidies up. */
function leaving(transport: Transport): Transport {
  const send: Transport['send'] = (request) => {
    const { route, signal } = request
    const sent = transport.send(request)
    if (signal === undefined || route === 'POST /api/direct/{type}') return sent
    return new Promise((resolve, reject) => {
      const leave = (): void => reject(signal.reason as Error)
      signal.addEventListener('abort', leave, { once: true })
      sent.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
    })
  }
  return { ...transport, send }
}

/** Every request ends when the signal fires, unless it has a signal of its own. */
function endingWith(transport: Transport, signal: AbortSignal): Transport {
  return {
    description: transport.description,
    send: async (request) => {
      if (Object.values(request.params).includes('')) throw usageError('Expected an id or a name, got an empty text.')
      return transport.send({ ...request, signal: request.signal ?? signal })
    },
    events: (options) => transport.events(options),
  }
}
