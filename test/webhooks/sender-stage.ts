import { afterEach, expect } from 'vitest'
import { WebhookSender, type WebhookSenderParts } from '../../src/engine/webhook-sender.ts'
import { AddressGuard } from '../../src/platform/webhook-address.ts'
import { WebhookPoster, type WebhookPosterOptions } from '../../src/platform/webhook-post.ts'
import { endOf, newId, newJob, newNode } from '../../src/store/conformance/fixtures.ts'
import { onFaultPoint } from '../../src/store/fault-points.ts'
import type { Store, StoreSource } from '../../src/store/store.ts'
import { SettableClock } from '../../src/testing/index.ts'
import { newStore } from '../stores/source-stores.ts'
import { logger } from './stage.ts'

type Source = Pick<StoreSource, 'open'>

const endings: (() => Promise<void>)[] = []

afterEach(async () => {
  onFaultPoint(null)
  for (const end of endings.splice(0).reverse()) await end()
})

/** A node without a scheduler, and a sender on it: for what happens between its steps. */
export class SenderStage {
  readonly store: Store
  readonly clock: SettableClock
  readonly nodeId: string
  readonly sender: WebhookSender

  private constructor(store: Store, clock: SettableClock, nodeId: string, sender: WebhookSender) {
    this.store = store
    this.clock = clock
    this.nodeId = nodeId
    this.sender = sender
  }

  static async open(
    options: Partial<WebhookSenderParts> & {
      readonly source?: Source
      readonly clock?: SettableClock
      readonly post?: Partial<WebhookPosterOptions>
    } = {},
  ): Promise<SenderStage> {
    const { source = newStore(), clock = new SettableClock(), post = {}, ...parts } = options
    const store = await source.open()
    const node = newNode({ startedAt: clock.now() })
    const { nodeId } = node
    await store.registerNode(node)
    const poster = new WebhookPoster({ guard: new AddressGuard(['127.0.0.1']), ...post })
    const sender = new WebhookSender({ store, clock, logger, nodeId, poster, ...parts })
    store.subscribe((signal) => sender.hear(signal))
    endings.push(async () => {
      await poster.close()
      await sender.stop()
      await store.close()
    })
    return new SenderStage(store, clock, nodeId, sender)
  }

  /** Returns the id of a new webhook, which is told that Jobs settled. */
  async subscribe(url: string): Promise<string> {
    const webhookId = newId()
    const now = this.clock.now()
    await this.store.createWebhook(
      {
        webhookId,
        name: null,
        url,
        events: ['job.settled'],
        jobTypes: null,
        enabled: true,
        disabledReason: null,
        revision: 1,
        createdAt: now,
        updatedAt: now,
      },
      `whsec_${Buffer.from(webhookId).toString('base64')}`,
    )
    return webhookId
  }

  /** Lets so many Jobs complete. */
  async complete(count = 1, webhookUrl: string | null = null): Promise<void> {
    const now = this.clock.now()
    await this.store.enqueueJobs(
      Array.from({ length: count }, () => newJob({ webhookUrl })),
      now,
    )
    const { jobs } = await this.store.claimJobs({
      nodeId: this.nodeId,
      now,
      limit: count,
      types: new Map([['story', count]]),
      newRunId: newId,
    })
    expect(jobs).toHaveLength(count)
    await this.store.finishRuns(
      jobs.map((job) => endOf(job, { finishedAt: now })),
      newId,
    )
  }

  /** Waits until the sender has nothing to do before the clock moves. */
  async settle(): Promise<void> {
    for (let stillTurns = 0; stillTurns < 8; stillTurns++) {
      await new Promise<void>((resolve) => setImmediate(resolve))
      if (!this.sender.isQuiet) stillTurns = 0
    }
  }

  /** As `STATUS attempts`, oldest first. */
  async log(): Promise<string[]> {
    const { items } = await this.store.listDeliveries({ limit: 200 })
    return items.toReversed().map(({ status, attempts }) => `${status} ${attempts}`)
  }
}
