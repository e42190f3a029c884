import type { Transport } from '../client/transport.ts'
import { inProcessTransport } from '../http/in-process.ts'
import { DOOR } from '../library/door.ts'
import { openScheduler } from '../library/open-scheduler.ts'
import type { Logger } from '../platform/logger.ts'
import type { StoreSource } from '../store/store.ts'
import type { LoadedConfig } from './config.ts'

export interface OpenStoreOptions {
  readonly source: StoreSource
  /** Its types are known. Null: only those that the store knows. */
  readonly config: LoadedConfig | null
  readonly user: string
  readonly logger: Logger
}

export interface OpenedStore {
  readonly transport: Transport
  close(): Promise<void>
}

/** A store without a server: the same pipeline in this process, as somebody who may do everything. Nothing is started. */
export async function openStore(options: OpenStoreOptions): Promise<OpenedStore> {
  const { jobs = [], maxRunning, resources, webhooks } = options.config?.config ?? {}
  const scheduler = await openScheduler({
    store: options.source,
    jobs,
    ...(maxRunning !== undefined && { maxRunning }),
    ...(resources !== undefined && { resources }),
    ...(webhooks !== undefined && { webhooks }),
    logger: options.logger,
  })
  const transport = inProcessTransport(scheduler[DOOR], { name: `cli:${options.user}`, role: 'admin' })
  return { transport, close: () => scheduler.close() }
}
