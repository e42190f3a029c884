import { ON_PARENT_FAILURE, type OnParentFailure, PARENTS_MAX } from '../domain/dependency.ts'
import { PawlError } from '../domain/errors.ts'
import {
  DELAY_MAX_MS,
  invalid,
  type RetryOptions,
  readRetryOverrides,
  readWhole,
  readWord,
  refuseUnknownKeys,
} from '../domain/options.ts'
import { type EnqueueRequest, isPriority } from '../engine/enqueue.ts'
import { parseWebhookUrl } from '../platform/webhook-address.ts'

export interface EnqueueOptions {
  /** Higher goes first; a whole number of 32 bits. @default 0 */
  readonly priority?: number
  /** The instant before which it must not start: a Date, or epoch milliseconds. */
  readonly runAt?: Date | number
  /** The same as a delay from now. Give this or `runAt`. */
  readonly delayMs?: number
  /** The same key always means the same Job: a second request returns the first one's. Kept for ever. */
  readonly idempotencyKey?: string
  /** At most one live chain of Jobs has this key; while it lives, another request is refused. */
  readonly businessKey?: string
  /** A label for people. */
  readonly name?: string
  readonly tags?: readonly string[]
  /** Overrides the type's timeout for this Job; null for none. */
  readonly timeoutMs?: number | null
  /** Overrides the type's retry policy for this Job. What it does not name stays as the type says. */
  readonly retry?: RetryOptions
  /** Who asked, for the history. */
  readonly createdBy?: string
  /** Jobs that must settle before this one can start; any id of their chains. */
  readonly dependsOn?: readonly string[]
  /**
   * What happens when one of them ends FAILED or CANCELLED: this Job is cancelled, runs all the same, or waits until
   * somebody retries the parent and it succeeds.
   * @default 'cancel'
   */
  readonly onParentFailure?: OnParentFailure
  /** Told of the ends of this Job and its retries, signed with the store's default secret. */
  readonly webhookUrl?: string
}

const KNOWN = [
  'priority',
  'runAt',
  'delayMs',
  'idempotencyKey',
  'businessKey',
  'name',
  'tags',
  'timeoutMs',
  'retry',
  'createdBy',
  'dependsOn',
  'onParentFailure',
  'webhookUrl',
] as const

export const KEY_LENGTH_MAX = 512
export const NAME_LENGTH_MAX = 512
export const TAGS_MAX = 32
export const TAG_LENGTH_MAX = 128
export const TIMEOUT_MAX_MS = 30 * 24 * 3_600_000
/** The last instant that a Date can hold. */
export const INSTANT_MAX = 8_640_000_000_000_000

const AS_THE_TYPE_SAYS: EnqueueRequest['retry'] = []

/** Checks the options of a request, so that nothing wrong reaches the store. */
export function readEnqueueOptions(
  type: string,
  params: unknown,
  options: EnqueueOptions = {},
  now: number,
): EnqueueRequest {
  refuseUnknownKeys(options, KNOWN, '')
  const { priority = 0 } = options
  if (!isPriority(priority)) throw invalid('priority', 'a whole number of 32 bits', priority)
  return {
    type,
    params,
    priority,
    runAt: readRunAt(options, now),
    name: readStorable(options.name, 'name', NAME_LENGTH_MAX),
    tags: readTags(options.tags),
    createdBy: readStorable(options.createdBy, 'createdBy', NAME_LENGTH_MAX),
    businessKey: readStorable(options.businessKey, 'businessKey', KEY_LENGTH_MAX),
    idempotencyKey: readStorable(options.idempotencyKey, 'idempotencyKey', KEY_LENGTH_MAX),
    timeoutMs: readTimeout(options.timeoutMs),
    retry: options.retry === undefined ? AS_THE_TYPE_SAYS : [readRetryOverrides(options.retry)],
    templateId: null,
    scheduleId: null,
    slotAt: null,
    dependsOn: readParents(options.dependsOn),
    onParentFailure: readWord(options.onParentFailure ?? 'cancel', ON_PARENT_FAILURE, 'onParentFailure'),
    webhookUrl: readWebhookUrl(options.webhookUrl),
  }
}

function readParents(dependsOn: readonly string[] | undefined): readonly string[] {
  if (dependsOn === undefined) return []
  if (!Array.isArray(dependsOn) || dependsOn.length > PARENTS_MAX) {
    throw invalid('dependsOn', `a list of at most ${PARENTS_MAX} job ids`, dependsOn)
  }
  return [...new Set(Array.from(dependsOn, (id, index) => readItem(id, `dependsOn.${index}`, KEY_LENGTH_MAX)))]
}

/** One text of a list, which may not be left out. */
function readItem(value: unknown, path: string, lengthMax: number): string {
  const text = readStorable(value, path, lengthMax)
  if (text !== null) return text
  throw invalid(path, `a text of 1 to ${lengthMax} characters`, value)
}

/** Whether the address may be called is asked elsewhere; here it must at least be one. */
function readWebhookUrl(url: string | undefined): string | null {
  if (url === undefined) return null
  const parsed = parseWebhookUrl(url)
  if (parsed.kind === 'url') return url
  throw new PawlError('webhook_url_refused', parsed.message, { path: 'webhookUrl' })
}

function readRunAt({ runAt, delayMs }: EnqueueOptions, now: number): number | null {
  if (runAt !== undefined && delayMs !== undefined) {
    throw new PawlError('invalid_option', 'Expected `runAt` or `delayMs`, got both.', { path: 'delayMs' })
  }
  if (delayMs !== undefined) return now + readWhole(delayMs, 0, DELAY_MAX_MS, 'delayMs')
  return runAt === undefined ? null : readInstant(runAt, 'runAt')
}

/** A Date or epoch milliseconds, as epoch milliseconds. */
export function readInstant(value: unknown, path: string): number {
  const instant = value instanceof Date ? value.getTime() : value
  if (typeof instant === 'number' && Number.isInteger(instant) && instant >= 0 && instant <= INSTANT_MAX) return instant
  throw invalid(path, 'a valid Date or epoch milliseconds', value)
}

/** The longest timeout is bounded, because a body that may take for ever should say so with null. */
export function readTimeout(timeoutMs: number | null | undefined): number | null | undefined {
  if (timeoutMs === undefined || timeoutMs === null) return timeoutMs
  return readWhole(timeoutMs, 1, TIMEOUT_MAX_MS, 'timeoutMs')
}

export function readTags(tags: readonly string[] | undefined): readonly string[] {
  if (tags === undefined) return []
  if (!Array.isArray(tags) || tags.length > TAGS_MAX) throw invalid('tags', `a list of at most ${TAGS_MAX} texts`, tags)
  return Array.from(tags, (tag, index) => readItem(tag, `tags.${index}`, TAG_LENGTH_MAX))
}

export function readStorable(value: unknown, path: string, lengthMax: number): string | null {
  if (value === undefined) return null
  const isText = typeof value === 'string' && value !== '' && value.length <= lengthMax
  // No database of ours can hold U+0000 or half a surrogate pair in a text.
  if (isText && !value.includes('\u0000') && isWellFormed(value)) return value
  throw invalid(path, `a text of 1 to ${lengthMax} characters without U+0000`, value)
}

function isWellFormed(text: string): boolean {
  return !/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(text)
}
