import { attemptOf, HOUR, NOW, newWebhook, OTHER_SECRET, SECOND, SECRET } from '../fixtures.ts'
import { type Operation, one, type Stage } from '../stage.ts'

const REFUSED = { statusCode: 503, error: 'The receiver answered 503.', responseExcerpt: 'closed' } as const

/** Two deliveries that have failed for good. */
async function failTwo(stage: Stage): Promise<string> {
  const { webhookId } = await stage.subscribe()
  await stage.complete(2)
  const attempts = (await stage.lease()).map((leased) => attemptOf(leased, { ...REFUSED, next: { kind: 'failed' } }))
  await stage.store.recordDeliveryAttempts(attempts)
  return webhookId
}

/** Webhooks, their secrets and their deliveries. */
export const webhookOperations: readonly Operation[] = [
  {
    name: 'a new webhook',
    prepare: async (stage) => {
      const webhook = newWebhook()
      return () => stage.store.createWebhook(webhook, SECRET)
    },
    again: 'refused',
  },
  {
    name: 'a change of a webhook',
    prepare: async (stage) => {
      const webhook = await stage.subscribe()
      await stage.complete()
      const changed = { ...webhook, url: 'https://example.com/other', enabled: false }
      return () => stage.store.changeWebhook({ webhook: changed, now: NOW })
    },
  },
  {
    name: 'rotating the secret of a webhook',
    prepare: async (stage) => {
      const { webhookId } = await stage.subscribe()
      return () => stage.store.rotateWebhookSecret(webhookId, OTHER_SECRET, NOW + HOUR, NOW)
    },
    // The same secret once more is a rotation too, and both are valid until then.
    again: 'more',
  },
  {
    name: 'removing a webhook with pending deliveries',
    prepare: async (stage) => {
      const { webhookId } = await stage.subscribe()
      await stage.complete(2)
      return () => stage.store.removeWebhook(webhookId, NOW + SECOND)
    },
  },
  {
    name: 'declaring the default secret',
    prepare: async (stage) => () => stage.store.declareDefaultSecret(SECRET),
  },
  {
    name: 'rotating the default secret',
    prepare: async (stage) => {
      await stage.store.declareDefaultSecret(SECRET)
      return () => stage.store.rotateDefaultSecret(OTHER_SECRET, NOW + HOUR)
    },
    again: 'more',
  },
  {
    name: 'lease of deliveries',
    prepare: async (stage) => {
      await stage.subscribe()
      await stage.subscribe({ url: 'https://example.com/other' })
      await stage.complete(2)
      return () => stage.leasePage()
    },
  },
  {
    name: 'record of attempts',
    prepare: async (stage) => {
      await stage.subscribe()
      await stage.complete(3)
      const [first, second, third] = await stage.lease()
      const attempts = [
        attemptOf(one([first].flatMap((leased) => leased ?? []))),
        attemptOf(one([second].flatMap((leased) => leased ?? [])), {
          ...REFUSED,
          next: { kind: 'again', at: NOW + 9 * SECOND },
        }),
        attemptOf(one([third].flatMap((leased) => leased ?? [])), {
          ...REFUSED,
          statusCode: 410,
          next: { kind: 'failed' },
          disableWebhook: 'The receiver answered 410.',
        }),
      ]
      return () => stage.store.recordDeliveryAttempts(attempts)
    },
  },
  {
    name: 'giving leases back',
    prepare: async (stage) => {
      await stage.subscribe()
      await stage.complete(2)
      await stage.lease()
      return () => stage.store.releaseDeliveries(stage.node.nodeId, NOW + 2 * SECOND)
    },
  },
  {
    name: 'replay of a delivery',
    prepare: async (stage) => {
      const webhookId = await failTwo(stage)
      const { deliveryId } = one((await stage.store.listDeliveries({ webhookId, limit: 1 })).items)
      return () => stage.store.replayDelivery(deliveryId, NOW + HOUR)
    },
  },
  {
    name: 'replay of many deliveries',
    prepare: async (stage) => {
      const webhookId = await failTwo(stage)
      const request = { webhookId, status: 'FAILED', since: null, limit: 10, cursor: null, now: NOW + HOUR } as const
      return () => stage.store.replayDeliveries(request)
    },
  },
]
