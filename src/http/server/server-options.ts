import { invalid, readText, readWhole, refuseUnknownKeys } from '../../domain/options.ts'
import { type Logger, neverThrowing } from '../../platform/logger.ts'
import type { Redaction } from '../redact.ts'
import { readBasePath } from './base-path.ts'
import { DASHBOARD_FOLDER } from './dashboard.ts'

export interface HttpOptions {
  /** The address to listen on. Any but the machine's own loopback needs API keys. @default '127.0.0.1' */
  readonly host?: string
  /** 0: any free one. @default 4747 */
  readonly port?: number
  /**
   * Names under which this server is reached besides loopback and `host`, such as `['pawl.example.com']`. With a port,
   * only that port.
   * @default none
   */
  readonly allowedHosts?: readonly string[]
  /** Web pages of these origins may call the API, such as `['https://ops.example.com']`. @default none */
  readonly allowedOrigins?: readonly string[]
  /** Requests per second and key; false: as many as come. @default 1_000, and false on loopback without keys */
  readonly rateLimit?: number | false
  /** Serves the dashboard too, at `/`: the one of this package, or the files of another folder. @default false */
  readonly dashboard?: boolean | string
  /** Under which path a proxy offers this server, such as `/pawl`. @default none */
  readonly basePath?: string
  /** Browsers reach it through a proxy that speaks https: the cookie of a session goes no other way. @default false */
  readonly behindHttps?: boolean
  /** Keys of this role, or a lesser one, see neither params nor results, errors or logs. @default false */
  readonly redact?: false | 'viewer' | 'operator'
  /** How long `close` waits for requests that are being answered. @default 30_000 */
  readonly shutdownTimeoutMs?: number
  /** @default the scheduler's */
  readonly logger?: Logger
}

export interface CheckedHttpOptions {
  readonly host: string
  readonly port: number
  readonly allowedHosts: readonly string[]
  readonly allowedOrigins: ReadonlySet<string>
  /** Null: nobody said. */
  readonly rateLimit: number | false | null
  /** The folder of its files. Null: none is served. */
  readonly dashboard: string | null
  /** Nothing, or with a slash before and none behind. */
  readonly basePath: string
  readonly behindHttps: boolean
  readonly redact: Redaction
  readonly shutdownTimeoutMs: number
  readonly logger: Logger | null
}

const PORT_DEFAULT = 4747
const RATE_MAX = 1_000_000

const KNOWN = [
  'host',
  'port',
  'allowedHosts',
  'allowedOrigins',
  'rateLimit',
  'dashboard',
  'basePath',
  'behindHttps',
  'redact',
  'shutdownTimeoutMs',
  'logger',
] as const satisfies readonly (keyof HttpOptions)[]

export function readHttpOptions(options: HttpOptions): CheckedHttpOptions {
  refuseUnknownKeys(options, KNOWN, '')
  const { logger = null } = options
  return {
    host: readText(options.host ?? '127.0.0.1', 'host'),
    port: readWhole(options.port ?? PORT_DEFAULT, 0, 65_535, 'port'),
    allowedHosts: readList(options.allowedHosts, 'allowedHosts').map(readHost),
    allowedOrigins: new Set(readList(options.allowedOrigins, 'allowedOrigins').map(readOrigin)),
    rateLimit: readRateLimit(options.rateLimit),
    dashboard: readDashboard(options.dashboard),
    basePath: readBasePath(options.basePath, 'basePath'),
    redact: readRedaction(options.redact),
    behindHttps: readSwitch(options.behindHttps, 'behindHttps'),
    shutdownTimeoutMs: readWhole(options.shutdownTimeoutMs ?? 30_000, 0, 3_600_000, 'shutdownTimeoutMs'),
    logger: logger === null ? null : neverThrowing(readLogger(logger)),
  }
}

function readList(list: unknown, path: string): readonly unknown[] {
  if (list === undefined) return []
  if (Array.isArray(list)) return list as readonly unknown[]
  throw invalid(path, 'a list', list)
}

const HOST_PATTERN = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/i

function readHost(host: unknown, index: number): string {
  if (typeof host === 'string' && HOST_PATTERN.test(host)) return host.toLowerCase()
  throw invalid(`allowedHosts.${index}`, 'a host name such as `pawl.example.com`, with a port or without', host)
}

function readOrigin(origin: unknown, index: number): string {
  if (typeof origin === 'string' && URL.canParse(origin) && new URL(origin).origin === origin) return origin
  throw invalid(`allowedOrigins.${index}`, 'an origin such as `https://ops.example.com`, without a path', origin)
}

function readRateLimit(rate: unknown): number | false | null {
  if (rate === undefined) return null
  return rate === false ? false : readWhole(rate, 1, RATE_MAX, 'rateLimit')
}

function readRedaction(redact: unknown = false): Redaction {
  if (redact === false || redact === 'viewer' || redact === 'operator') return redact
  throw invalid('redact', "false, 'viewer' or 'operator'", redact)
}

function readSwitch(value: unknown, path: string): boolean {
  if (value === undefined || typeof value === 'boolean') return value === true
  throw invalid(path, 'true or false', value)
}

function readDashboard(dashboard: unknown = false): string | null {
  if (typeof dashboard === 'boolean') return dashboard ? DASHBOARD_FOLDER : null
  if (typeof dashboard === 'string' && dashboard !== '') return dashboard
  throw invalid('dashboard', 'true, false or the path of a folder', dashboard)
}

function readLogger(logger: Logger): Logger {
  const isWhole =
    typeof logger === 'object' && logger !== null && ['info', 'warn', 'error'].every((name) => name in logger)
  if (isWhole) return logger
  throw invalid('logger', 'an object with info(), warn(), error()', logger)
}
