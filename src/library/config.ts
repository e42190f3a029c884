import { PawlError } from '../domain/errors.ts'
import { invalid, readText, readWhole, readWord, refuseUnknownKeys } from '../domain/options.ts'
import type { Store, StoreSource } from '../store/store.ts'
import type { AnyJobType } from './job-type.ts'
import { readSchedulerOptions } from './scheduler-options.ts'

/** What `pawl.config.ts` exports: what the commands of the CLI work with. */
export interface PawlConfig {
  /**
   * Where Jobs are kept: what `sqlite(…)` returns, or a text such as `'sqlite:pawl.db'`, whose path is relative to the
   * file of the configuration. @default 'sqlite:pawl.db' in the working directory
   */
  readonly store?: StoreSource | string
  /** The job types that `pawl serve` and `pawl worker` handle. */
  readonly jobs: readonly AnyJobType[]
  /** Bodies at once in one process. @default 1 */
  readonly concurrency?: number
  /** Bodies at once on the whole store. @default no limit */
  readonly maxRunning?: number
  /** How many permits each resource has on the whole store. */
  readonly resources?: Readonly<Record<string, number>>
  /** How long a process that exits waits for running jobs before it aborts them. @default 30_000 */
  readonly shutdownTimeoutMs?: number
  readonly server?: ServerConfig
  /** Which private addresses webhooks may call, such as `['127.0.0.1', '10.0.0.0/8']`. @default none */
  readonly webhooks?: { readonly allowPrivate?: readonly string[] }
}

/** How `pawl serve` listens. Options on the command line come before what is written here. */
export interface ServerConfig {
  /** The address to listen on. One that others can reach needs API keys. @default '127.0.0.1' */
  readonly host?: string
  /** 0: any free one, which is printed. @default 4747 */
  readonly port?: number
  /** Names by which clients may call the server, besides its address: the `Host` of requests. @default none */
  readonly allowedHosts?: readonly string[]
  /** Web pages that may call the server: the `Origin` of requests, such as `https://ops.example.com`. @default none */
  readonly allowedOrigins?: readonly string[]
  /** Requests a second for each key; false: as many as come. @default 1_000, and false on loopback without keys */
  readonly rateLimit?: number | false
  /** Serves the dashboard at `/`. @default true */
  readonly dashboard?: boolean
  /** Under which path a proxy offers the server, such as `/pawl`. @default none */
  readonly basePath?: string
  /** Browsers reach the server through a proxy that speaks https: the cookie of a session goes no other way. @default false */
  readonly behindHttps?: boolean
  /** Keys of this role, or a lesser one, see neither params nor results, errors or logs. @default false */
  readonly redact?: false | 'viewer' | 'operator'
  /** Accepts Jobs of types that nobody has registered yet. @default false */
  readonly acceptAnyType?: boolean
}

/** Types the configuration for the editor. It is checked when a command loads it. */
export function defineConfig(config: PawlConfig): PawlConfig {
  return config
}

const KNOWN = [
  'store',
  'jobs',
  'concurrency',
  'maxRunning',
  'resources',
  'shutdownTimeoutMs',
  'server',
  'webhooks',
] as const

const KNOWN_OF_SERVER = [
  'host',
  'port',
  'allowedHosts',
  'allowedOrigins',
  'rateLimit',
  'dashboard',
  'basePath',
  'behindHttps',
  'redact',
  'acceptAnyType',
] as const

/** The configuration, if it is one. Else an error that says which key is wrong, what was expected and what came. */
export function readConfig(config: unknown, file: string): PawlConfig {
  try {
    return read(config)
  } catch (error) {
    if (!(error instanceof PawlError)) throw error
    const { message, path, details } = error
    throw new PawlError('config_invalid', `${file} is not right. ${message}`, {
      ...(path !== undefined && { path }),
      details: { ...details, file },
    })
  }
}

function read(config: unknown): PawlConfig {
  if (typeof config !== 'object' || config === null || Array.isArray(config)) {
    throw invalid('default', 'exported, as in `export default defineConfig({ jobs: [] })`', config)
  }
  refuseUnknownKeys(config, KNOWN, '')
  const { store, server, ...shared } = config as PawlConfig
  if (store !== undefined && typeof store !== 'string' && typeof store?.open !== 'function') {
    throw invalid('store', "a text such as 'sqlite:pawl.db', or what sqlite() returns", store)
  }
  if (typeof store === 'string') readText(store, 'store')
  if (shared.jobs === undefined) throw invalid('jobs', 'a list of job types made by defineJob', undefined)
  readSchedulerOptions({ ...shared, store: nowhere })
  if (server !== undefined) checkServer(server)
  return config as PawlConfig
}

/** What is shared with openScheduler is checked by the same code, which wants a store. */
const nowhere: StoreSource = {
  open: (): Promise<Store> => Promise.reject(new Error('Pawl has a bug: this store is never opened')),
  inspect: () => Promise.reject(new Error('Pawl has a bug: this store is never looked at')),
}

function checkServer(server: ServerConfig): void {
  refuseUnknownKeys(server, KNOWN_OF_SERVER, 'server')
  const { host, port, allowedHosts, allowedOrigins, rateLimit, basePath, redact } = server
  if (host !== undefined) readText(host, 'server.host')
  if (port !== undefined) readWhole(port, 0, 65_535, 'server.port')
  if (rateLimit !== undefined && rateLimit !== false) readWhole(rateLimit, 1, 1_000_000, 'server.rateLimit')
  if (redact !== undefined && redact !== false) readWord(redact, ['viewer', 'operator'], 'server.redact')
  if (basePath !== undefined) readText(basePath, 'server.basePath')
  for (const name of ['dashboard', 'behindHttps', 'acceptAnyType'] as const) {
    const value = server[name]
    if (value !== undefined && typeof value !== 'boolean') throw invalid(`server.${name}`, 'true or false', value)
  }
  checkTexts(allowedHosts, 'server.allowedHosts')
  checkTexts(allowedOrigins, 'server.allowedOrigins')
}

function checkTexts(texts: unknown, path: string): void {
  if (texts === undefined) return
  if (!Array.isArray(texts)) throw invalid(path, 'a list of texts', texts)
  texts.forEach((text, index) => readText(text, `${path}.${index}`))
}
