import type { Client } from '../client/index.ts'
import type { Transport } from '../client/transport.ts'
import type { Logger } from '../platform/logger.ts'
import { CliError, usageError } from './cli-error.ts'
import type { LoadedConfig } from './config.ts'
import type { StoreTarget, Target } from './target.ts'

/**
 * `read`: the database must be there, and no configuration is needed. `change`: it must be there too, and the types of the
 * configuration are known. `create`: it is made where it is missing. `ask`: the answer depends on no store at all, so an
 * empty one in memory will do.
 */
export type Access = 'read' | 'change' | 'create' | 'ask'

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
  /** Ends what is under way when the person at the terminal wants so. */
  readonly signal: AbortSignal
}

export async function openSession(options: SessionOptions): Promise<Session> {
  const { target, signal } = options
  const { clientOver } = await import('../client/index.ts')
  if (target.kind === 'server') {
    const { httpTransport } = await import('../client/http-transport.ts')
    const { url, apiKey } = target
    const transport = httpTransport({ server: url, ...(apiKey !== undefined && { apiKey }) })
    return { client: clientOver(endingWith(transport, signal)), target, close: async () => {} }
  }
  const { transport, close } = await openStoreOf(options, target)
  return { client: clientOver(endingWith(transport, signal)), target, close }
}

async function openStoreOf({ access, config, user, logger }: SessionOptions, target: StoreTarget) {
  if (access === 'read' || access === 'change') await refuseMissing(target)
  const { openStore } = await import('./open-store.ts')
  const { sqlite } = await import('../stores/sqlite/index.ts')
  return openStore({
    source: access === 'ask' ? sqlite(':memory:') : target.source,
    config: access === 'change' || access === 'create' ? await config() : null,
    user,
    logger,
  })
}

/** What only reads or changes what is there must not leave an empty database behind. */
export async function refuseMissing(target: StoreTarget): Promise<void> {
  const { kind } = await target.source.inspect()
  if (kind !== 'missing') return
  throw new CliError(
    `There is no database yet: ${target.description}. Name another with --store, or make this one with \`pawl migrate\`.`,
    { code: 'database_missing' },
  )
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
