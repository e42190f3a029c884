import { PawlError } from '../domain/errors.ts'
import { invalid, readText, readWord, refuseUnknownKeys } from '../domain/options.ts'
import type { Delivery, DeliveryStatus } from '../domain/webhook.ts'
import type { Page } from '../store/jobs.ts'
import type { OperationContext } from './context.ts'
import { type PageOptions, readPage } from './read-history.ts'
import { getWebhook, webhookNotFound } from './webhooks.ts'

export interface DeliveryListOptions extends PageOptions {
  readonly webhookId?: string
  readonly jobId?: string
  readonly status?: DeliveryStatus
}

/** Newest first. The log of a removed webhook stays. */
export async function listDeliveries(
  context: OperationContext,
  options: DeliveryListOptions = {},
): Promise<Page<Delivery>> {
  refuseUnknownKeys(options, ['webhookId', 'jobId', 'status', 'limit', 'cursor'], '')
  const { webhookId, jobId, status } = options
  return context.store.listDeliveries({
    ...readPage(options),
    ...(webhookId !== undefined && { webhookId: readText(webhookId, 'webhookId') }),
    ...(jobId !== undefined && { jobId: readText(jobId, 'jobId') }),
    ...(status !== undefined && { status: readWord(status, ['PENDING', 'DELIVERED', 'FAILED'], 'status') }),
  })
}

export async function getDelivery(context: OperationContext, deliveryId: string): Promise<Delivery> {
  const delivery = await context.store.findDelivery(readText(deliveryId, 'deliveryId'))
  if (delivery === null) throw deliveryNotFound(deliveryId)
  return delivery
}

/** Sends an ended delivery again: the same id and the same text, with all its attempts before it. */
export async function replayDelivery(context: OperationContext, deliveryId: string): Promise<Delivery> {
  const result = await context.store.replayDelivery(readText(deliveryId, 'deliveryId'), context.clock.now())
  switch (result) {
    case 'replayed':
      return getDelivery(context, deliveryId)
    case 'pending':
      throw new PawlError('delivery_pending', `Delivery ${deliveryId} has not ended yet: it is sent without that.`, {
        details: { deliveryId },
      })
    case 'removed':
      throw webhookNotFound((await getDelivery(context, deliveryId)).webhookId ?? '')
    case 'not-found':
      throw deliveryNotFound(deliveryId)
  }
}

export interface ReplayOptions {
  readonly status: Exclude<DeliveryStatus, 'PENDING'>
  /** Only what happened at this instant or later: a Date, or epoch milliseconds. @default all of it */
  readonly since?: Date | number
}

/** So many are looked at in one transaction. */
const PAGE = 500

/** The same for many deliveries of a webhook. Returns how many. */
export async function replayDeliveries(
  context: OperationContext,
  webhookId: string,
  options: ReplayOptions,
): Promise<{ readonly count: number }> {
  refuseUnknownKeys(options, ['status', 'since'], '')
  const status = readWord(options.status, ['FAILED', 'DELIVERED'], 'status')
  const since = readInstant(options.since, 'since')
  await getWebhook(context, webhookId)
  let count = 0
  let cursor: string | null = null
  do {
    const now = context.clock.now()
    const page = await context.store.replayDeliveries({ webhookId, status, since, limit: PAGE, cursor, now })
    count += page.replayed
    cursor = page.nextCursor
  } while (cursor !== null)
  return { count }
}

function readInstant(value: Date | number | undefined, path: string): number | null {
  if (value === undefined) return null
  const instant = value instanceof Date ? value.getTime() : value
  if (Number.isInteger(instant) && instant >= 0) return instant
  throw invalid(path, 'a valid Date or epoch milliseconds', value)
}

function deliveryNotFound(deliveryId: string): PawlError {
  return new PawlError(
    'delivery_not_found',
    `There is no delivery ${deliveryId}. It never existed, or it was pruned with its job.`,
    { details: { deliveryId } },
  )
}
