import { PawlError } from '../domain/errors.ts'
import { JOB_TYPE_PATTERN } from '../domain/job.ts'
import { invalid, readWord, refuseUnknownKeys } from '../domain/options.ts'
import { WEBHOOK_EVENTS, type Webhook, type WebhookEvent } from '../domain/webhook.ts'
import { type AddressGuard, checkWebhookUrl } from '../platform/webhook-address.ts'
import { readStorable } from './enqueue-options.ts'
import { refuseEmptyChange } from './template-options.ts'

export interface WebhookOptions {
  /** Where to post, http or https. A private address must be allowed in the scheduler's options. */
  readonly url: string
  /** What it is told of. @default all events */
  readonly events?: readonly WebhookEvent[] | null
  /** The job types it is told of. @default all types */
  readonly jobTypes?: readonly string[] | null
  /** A label for people. */
  readonly name?: string | null
  /** @default true */
  readonly enabled?: boolean
}

export interface WebhookChange extends Partial<WebhookOptions> {
  /** The revision you decided on: when somebody changed the webhook since, this change is refused. */
  readonly revision?: number
}

const KEYS = ['url', 'events', 'jobTypes', 'name', 'enabled'] as const
const NAME_LENGTH_MAX = 512
export const JOB_TYPES_MAX = 100

/** What a person says about a webhook. */
export type WebhookDefinition = Pick<Webhook, (typeof KEYS)[number]>

export async function readWebhookOptions(guard: AddressGuard, options: WebhookOptions): Promise<WebhookDefinition> {
  refuseUnknownKeys(options, KEYS, '')
  const blank = { events: null, jobTypes: null, name: null, enabled: true }
  return { ...blank, ...readGiven(options), url: await readUrl(guard, options.url) }
}

/** What the change does not name stays as it is. */
export async function readWebhookChange(
  guard: AddressGuard,
  options: WebhookChange,
): Promise<Partial<WebhookDefinition>> {
  refuseUnknownKeys(options, [...KEYS, 'revision'], '')
  refuseEmptyChange(options, KEYS)
  const given = readGiven(options)
  return options.url === undefined ? given : { ...given, url: await readUrl(guard, options.url) }
}

function readGiven({ events, jobTypes, name, enabled }: Partial<WebhookOptions>): Partial<WebhookDefinition> {
  return {
    ...(events !== undefined && { events: events === null ? null : readEvents(events) }),
    ...(jobTypes !== undefined && { jobTypes: jobTypes === null ? null : readJobTypes(jobTypes) }),
    ...(name !== undefined && { name: name === null ? null : readStorable(name, 'name', NAME_LENGTH_MAX) }),
    ...(enabled !== undefined && { enabled: readEnabled(enabled) }),
  }
}

function readEvents(events: readonly WebhookEvent[]): readonly WebhookEvent[] {
  if (!Array.isArray(events) || events.length === 0) throw invalid('events', 'a list that is not empty', events)
  return [...new Set(events.map((event, index) => readWord(event, WEBHOOK_EVENTS, `events.${index}`)))]
}

/** A type need not be known yet: whoever handles it may come later. */
function readJobTypes(jobTypes: readonly string[]): readonly string[] {
  if (!Array.isArray(jobTypes) || jobTypes.length === 0 || jobTypes.length > JOB_TYPES_MAX) {
    throw invalid('jobTypes', `a list of 1 to ${JOB_TYPES_MAX} type names`, jobTypes)
  }
  for (const [index, type] of jobTypes.entries()) {
    if (typeof type !== 'string' || !JOB_TYPE_PATTERN.test(type))
      throw invalid(`jobTypes.${index}`, 'a type name', type)
  }
  return [...new Set(jobTypes)]
}

function readEnabled(enabled: unknown): boolean {
  if (typeof enabled === 'boolean') return enabled
  throw invalid('enabled', 'true or false', enabled)
}

async function readUrl(guard: AddressGuard, url: unknown): Promise<string> {
  const check = await checkWebhookUrl(url, guard)
  if (check.kind === 'refused') throw new PawlError('webhook_url_refused', check.message, { path: 'url' })
  return url as string
}
