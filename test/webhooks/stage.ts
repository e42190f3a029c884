import { mkdtempSync, rmSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, vi } from 'vitest'
import type { DeliveryStatus, WebhookEvent } from '../../src/domain/webhook.ts'
import type { WireJob, WireRun } from '../../src/domain/wire.ts'
import type { WebhookMessage } from '../../src/engine/webhook-payload.ts'
import { defineJob } from '../../src/library/define-job.ts'
import type { Scheduler } from '../../src/library/scheduler.ts'
import type { Logger } from '../../src/platform/logger.ts'
import { openTestScheduler, type TestScheduler, type TestSchedulerOptions } from '../../src/testing/index.ts'
import { receiveHttp } from '../platform/support/receiver.ts'
import { newStore } from '../stores/source-stores.ts'

export type { WireJob, WireRun }

/** One request that a receiver got. */
export interface Received {
  readonly id: string
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  readonly message: WebhookMessage
}

/** A status, or a whole answer. `never`: none at all. */
export type Answer =
  | number
  | 'never'
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }

export interface WebhookReceiver {
  readonly url: string
  readonly received: readonly Received[]
  /** The messages about this event, as they came. */
  about(event: WebhookEvent): WebhookMessage[]
  /** Ends the requests that it has not answered. */
  hangUp(): void
  /** What it was told, as `event` and `event, will retry`, in the order of the alphabet: deliveries may overtake each other. */
  told(): string[]
}

/** A real HTTP server on 127.0.0.1 that remembers what it was sent. */
export async function openReceiver(
  answer: (one: Received, nth: number) => Answer = () => 204,
): Promise<WebhookReceiver> {
  const received: Received[] = []
  const unanswered: ServerResponse[] = []
  const { url } = await receiveHttp(({ request, response, body }) => {
    const headers = request.headers as Record<string, string>
    const one = { id: headers['webhook-id'] ?? '', headers, text: body, message: JSON.parse(body) as WebhookMessage }
    received.push(one)
    const given = answer(one, received.length)
    if (given === 'never') {
      unanswered.push(response)
      return
    }
    const { status, headers: more = {}, body: text = '' } = typeof given === 'number' ? { status: given } : given
    response.writeHead(status, more).end(text)
  })
  return {
    url,
    received,
    hangUp: () => {
      for (const response of unanswered.splice(0)) response.destroy()
    },
    about: (event) => received.map(({ message }) => message).filter((message) => message.event === event),
    told: () => received.map(({ message }) => `${message.event}${message.will_retry ? ', will retry' : ''}`).toSorted(),
  }
}

/** What an operator was told, as far as it was more than information. */
export const warnings: string[] = []

export const logger: Logger = {
  info() {},
  warn: (_fields, message) => void warnings.push(message),
  error: (_fields, message) => void warnings.push(message),
}

afterEach(() => void warnings.splice(0))

export const write = defineJob({ type: 'write', run: ({ params }) => params })

export const burn = defineJob({
  type: 'burn',
  retry: { maxRetries: 1, backoff: { kind: 'fixed', delayMs: 10_000 } },
  run: () => {
    throw new Error('no paper left')
  },
})

/** A scheduler on a virtual clock that may call this machine. */
export function openStage(options: TestSchedulerOptions = {}): Promise<TestScheduler> {
  const webhooks = { allowPrivate: ['127.0.0.1'] }
  return openTestScheduler({ store: newStore(), jobs: [write, burn], webhooks, logger, ...options })
}

/** All deliveries, oldest first, as `event STATUS attempts`. */
export async function readLog(
  scheduler: Scheduler,
  filter: Parameters<Scheduler['webhooks']['deliveries']>[0] = {},
): Promise<string[]> {
  const { items } = await scheduler.webhooks.deliveries({ limit: 200, ...filter })
  return items.toReversed().map(({ event, status, attempts }) => line(event, status, attempts))
}

function line(event: WebhookEvent, status: DeliveryStatus, attempts: number): string {
  return `${event} ${status} ${attempts}`
}

export const PATIENCE = { timeout: 20_000, interval: 10 }

/** Waits until this holds. */
export function until(check: () => void | Promise<void>): Promise<void> {
  return vi.waitFor(check, PATIENCE)
}

const folders: string[] = []

export function newDatabasePath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-webhooks-'))
  folders.push(folder)
  return join(folder, 'pawl.db')
}

afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})
