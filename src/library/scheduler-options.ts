import { hostname } from 'node:os'
import { PawlError } from '../domain/errors.ts'
import {
  CONCURRENCY_MAX,
  LIMIT_MAX,
  RESOURCE_PATTERN,
  RUNNING_LIMIT,
  resourceLimit,
  typeLimit,
} from '../domain/limits.ts'
import { invalid, readText, readWhole, refuseUnknownKeys } from '../domain/options.ts'
import { type ConcurrencyPolicy, fillFreePlaces } from '../engine/concurrency-policy.ts'
import type { RegisteredType } from '../engine/job-type.ts'
import { type Clock, wholeClock } from '../platform/clock.ts'
import { type Logger, neverThrowing, stderrLogger } from '../platform/logger.ts'
import { type Random, systemRandom } from '../platform/random.ts'
import { AddressGuard } from '../platform/webhook-address.ts'
import { type PostRequest, type PostResult, WebhookPoster } from '../platform/webhook-post.ts'
import type { LimitRecord } from '../store/maintenance.ts'
import type { StoreSource } from '../store/store.ts'
import { type AnyJobType, type BrandedType, JOB_TYPE_VERSION, REGISTERED } from './job-type.ts'

export interface WebhookSendingOptions {
  /** Which private addresses webhooks may call, such as `['127.0.0.1', '10.0.0.0/8']`. @default none */
  readonly allowPrivate?: readonly string[]
  /** Sends one message. For tests that want no network: it checks no address. @default over HTTP */
  readonly post?: (request: PostRequest) => Promise<PostResult>
}

export interface SchedulerOptions {
  readonly store: StoreSource
  /** The job types this process handles. @default none: it can enqueue and read, not execute */
  readonly jobs?: readonly AnyJobType[]
  /** Bodies at once in this process. @default 1 */
  readonly concurrency?: number
  /** Bodies at once on the whole store. @default no limit */
  readonly maxRunning?: number
  /** How many permits each resource has on the whole store. */
  readonly resources?: Readonly<Record<string, number>>
  /** How long `close` waits for running jobs before it aborts them. @default 30_000 */
  readonly shutdownTimeoutMs?: number
  readonly webhooks?: WebhookSendingOptions
  /** Closes on SIGTERM and SIGINT and exits; a second signal exits at once. @default false */
  readonly handleSignals?: boolean
  /** What operators call this process. @default its host name and pid */
  readonly name?: string
  /** Decides how many jobs of which types to claim, within the limits. @default whatever is next */
  readonly concurrencyPolicy?: ConcurrencyPolicy
  /** @default warnings and errors, one line each, on stderr */
  readonly logger?: Logger
  /** @default the system's clock; with a store that many machines share, the time of the store */
  readonly clock?: Clock
  /** @default Math.random */
  readonly random?: Random
  /**
   * Accepts Jobs of types that nobody has registered yet; they get the default policy. For `pawl serve --accept-any-type`.
   * @internal
   */
  readonly acceptAnyType?: boolean
}

const KNOWN = [
  'store',
  'jobs',
  'concurrency',
  'maxRunning',
  'resources',
  'shutdownTimeoutMs',
  'webhooks',
  'handleSignals',
  'name',
  'concurrencyPolicy',
  'logger',
  'clock',
  'random',
  'acceptAnyType',
] as const

export interface CheckedOptions {
  readonly types: ReadonlyMap<string, RegisteredType>
  readonly concurrency: number
  readonly limits: readonly LimitRecord[]
  readonly shutdownTimeoutMs: number
  readonly webhookGuard: AddressGuard
  readonly webhookPoster: Pick<WebhookPoster, 'post'>
  readonly handleSignals: boolean
  readonly name: string
  readonly policy: ConcurrencyPolicy
  readonly logger: Logger
  /** Null: none was given. */
  readonly clock: Clock | null
  readonly random: Random
  readonly acceptAnyType: boolean
}

export function readSchedulerOptions(options: SchedulerOptions): CheckedOptions {
  refuseUnknownKeys(options, KNOWN, '')
  if (typeof options.store?.open !== 'function')
    throw invalid('store', "a store such as sqlite('pawl.db')", options.store)
  const types = readTypes(options.jobs ?? [])
  const webhookGuard = readWebhookGuard(options.webhooks ?? {})
  return {
    types,
    concurrency: readWhole(options.concurrency ?? 1, 1, CONCURRENCY_MAX, 'concurrency'),
    limits: readLimits(options, types),
    shutdownTimeoutMs: readWhole(options.shutdownTimeoutMs ?? 30_000, 0, 3_600_000, 'shutdownTimeoutMs'),
    webhookGuard,
    webhookPoster: readWebhookPoster(options.webhooks ?? {}, webhookGuard),
    handleSignals: readBoolean(options.handleSignals ?? false, 'handleSignals'),
    name: readText(options.name ?? `${hostname()}-${process.pid}`, 'name'),
    policy: readPort(options.concurrencyPolicy ?? fillFreePlaces, ['decideClaims'], 'concurrencyPolicy'),
    logger: neverThrowing(readPort(options.logger ?? stderrLogger, ['info', 'warn', 'error'], 'logger')),
    clock: options.clock === undefined ? null : wholeClock(readPort(options.clock, ['now', 'after'], 'clock')),
    random: readPort(options.random ?? systemRandom, ['next'], 'random'),
    acceptAnyType: readBoolean(options.acceptAnyType ?? false, 'acceptAnyType'),
  }
}

function readWebhookPoster({ post }: WebhookSendingOptions, guard: AddressGuard): Pick<WebhookPoster, 'post'> {
  if (post === undefined) return new WebhookPoster({ guard })
  if (typeof post === 'function') return { post }
  throw invalid('webhooks.post', 'a function that sends a message', post)
}

function readWebhookGuard(webhooks: WebhookSendingOptions): AddressGuard {
  refuseUnknownKeys(webhooks, ['allowPrivate', 'post'], 'webhooks')
  const { allowPrivate = [] } = webhooks
  try {
    return new AddressGuard(allowPrivate)
  } catch {
    throw invalid('webhooks.allowPrivate', 'a list of IP addresses and ranges such as `10.0.0.0/8`', allowPrivate)
  }
}

function readBoolean(value: unknown, path: string): boolean {
  if (typeof value === 'boolean') return value
  throw invalid(path, 'true or false', value)
}

/** A port that the caller brings must have its methods, or it would fail much later. */
function readPort<Port extends object>(port: Port, methods: readonly (keyof Port & string)[], path: string): Port {
  const isWhole = typeof port === 'object' && port !== null && methods.every((name) => typeof port[name] === 'function')
  if (isWhole) return port
  throw invalid(path, `an object with ${methods.map((name) => `${name}()`).join(', ')}`, port)
}

function readTypes(jobs: readonly AnyJobType[]): Map<string, RegisteredType> {
  if (!Array.isArray(jobs)) throw invalid('jobs', 'a list of job types made by defineJob', jobs)
  const types = new Map<string, RegisteredType>()
  for (const [index, job] of (jobs as readonly AnyJobType[]).entries()) {
    const registered = job?.[REGISTERED]
    if (registered === undefined) throw invalid(`jobs.${index}`, 'a job type made by defineJob', job)
    refuseOtherVersion(registered, index)
    if (types.has(registered.type)) {
      throw new PawlError(
        'duplicate_type',
        `Job type \`${registered.type}\` is given twice. Each type has one handler.`,
        {
          path: `jobs.${index}`,
        },
      )
    }
    types.set(registered.type, registered)
  }
  return types
}

function refuseOtherVersion({ type, version }: BrandedType, index: number): void {
  if (version === JOB_TYPE_VERSION) return
  throw new PawlError(
    'invalid_option',
    `Expected job type \`${type}\` to be made by this version of pawl, but another version that is installed here made it. Use that one, with \`npx pawl\` in the project's folder, or install the same version in both places.`,
    { path: `jobs.${index}` },
  )
}

function readLimits(options: SchedulerOptions, types: ReadonlyMap<string, RegisteredType>): LimitRecord[] {
  const limits: LimitRecord[] = []
  if (options.maxRunning !== undefined) {
    limits.push({ name: RUNNING_LIMIT, max: readWhole(options.maxRunning, 1, LIMIT_MAX, 'maxRunning') })
  }
  for (const [name, max] of Object.entries(options.resources ?? {})) {
    if (!RESOURCE_PATTERN.test(name)) throw invalid('resources', 'an object with names such as `gpu`', name)
    limits.push({ name: resourceLimit(name), max: readWhole(max, 1, LIMIT_MAX, `resources.${name}`) })
  }
  for (const { type, concurrency } of types.values()) {
    if (concurrency !== null) limits.push({ name: typeLimit(type), max: concurrency })
  }
  return limits
}

/** A type that takes a resource which neither the options nor the store give a limit is a mistake of the configuration. */
export function refuseUnknownResources(types: Iterable<RegisteredType>, stored: readonly LimitRecord[]): void {
  const known = new Set(stored.map(({ name }) => name))
  for (const { type, policy } of types) {
    for (const resource of policy.resources) {
      if (known.has(resourceLimit(resource))) continue
      throw new PawlError(
        'unknown_resource',
        `Job type \`${type}\` takes the resource \`${resource}\`, but nobody said how many there are. Pass openScheduler({ resources: { '${resource}': 1 } }).`,
        { path: `resources.${resource}` },
      )
    }
  }
}
