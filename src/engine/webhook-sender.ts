import { type Clock, delay, type Timer } from '../platform/clock.ts'
import type { Logger } from '../platform/logger.ts'
import type { PostResult, WebhookPoster } from '../platform/webhook-post.ts'
import { newWebhookSecret, signatureHeaders } from '../platform/webhook-signature.ts'
import type { StoreSignal } from '../store/events.ts'
import type { LeasedDelivery, WebhookStore } from '../store/webhooks.ts'
import { Lookout } from './lookout.ts'
import type { NodePart } from './node-part.ts'
import { type AttemptVerdict, judgeAttempt } from './webhook-attempt.ts'
import { renderDelivery } from './webhook-payload.ts'

export interface WebhookSenderParts {
  readonly store: Pick<
    WebhookStore,
    'declareDefaultSecret' | 'leaseDeliveries' | 'nextDeliveryAt' | 'recordDeliveryAttempts' | 'releaseDeliveries'
  >
  readonly clock: Clock
  readonly logger: Logger
  readonly nodeId: string
  readonly poster: Pick<WebhookPoster, 'post'>
  /** Posts at once. @default 64 */
  readonly concurrency?: number
  /** Posts to one endpoint at once, on the whole store. @default 4 */
  readonly perEndpoint?: number
}

const CONCURRENCY = 64
const PER_ENDPOINT = 4

/** Longer than any post takes, so that nobody else sends what is still being sent: the poster gives up after 10 s. */
const LEASE_MS = 40_000

const RECORD_AGAIN_MS = 250

/** A node that leaves gives its posts this long to end, and the store as long again to take back the rest. */
const STOP_GRACE_MS = 2_000

/** One delivery on its way. */
interface Post {
  /** Another one when the clock leapt over it, and it was taken again meanwhile. */
  lease: string
  leasedUntil: number
  readonly breaker: AbortController
  readonly end: Promise<void>
}

/**
 * Sends the deliveries that finishing transactions have written, each signed and with the same id on every attempt. It
 * takes no part in executing: it has places of its own, only reads Jobs, and waits for nobody. An endpoint that does not
 * answer takes its own places and no others.
 */
export class WebhookSender implements NodePart {
  readonly during = 'living'
  readonly #parts: WebhookSenderParts
  readonly #posts = new Map<string, Post>()
  readonly #lookout: Lookout
  #hasDefaultSecret = false
  /** Endpoints take turns: where the next lease begins. */
  #after: string | null = null

  constructor(parts: WebhookSenderParts) {
    const { clock, logger } = parts
    this.#parts = parts
    const failure = 'Deliveries cannot be read; trying again'
    this.#lookout = new Lookout({ clock, logger, look: () => this.#sendAllDue(), failure })
  }

  /** Neither a post nor a look is under way. */
  get isQuiet(): boolean {
    return this.#posts.size === 0 && this.#lookout.isQuiet
  }

  start(): void {
    this.#lookout.start()
  }

  /** What is under way gets a moment to end. What has not ended then is given back, and sent again by somebody else. */
  async stop(): Promise<void> {
    if (!this.#lookout.isRunning) return
    await this.#withinGrace(this.#ended())
    for (const { breaker } of this.#posts.values()) breaker.abort()
    await this.#withinGrace(this.#ended().then(() => this.#giveBack()))
  }

  hear(signal: StoreSignal): void {
    if (signal.kind === 'stirred' && signal.what.has('deliveries')) this.#lookout.wake()
    else if (signal.kind === 'changed-elsewhere') this.#lookout.wakeSoon()
  }

  /** As far as there is room. Returns when something else becomes due. */
  async #sendAllDue(): Promise<number | null> {
    const { store, clock } = this.#parts
    const now = clock.now()
    const firstAt = await store.nextDeliveryAt(0)
    if (firstAt === null || firstAt > now) return firstAt
    await this.#declareDefaultSecret()
    const until = this.#after
    while (this.#lookout.isRunning && (await this.#takeSome(now, until)) === 'more') continue
    return store.nextDeliveryAt(now)
  }

  async #takeSome(now: number, until: string | null): Promise<'more' | 'enough'> {
    const { store, nodeId, concurrency = CONCURRENCY, perEndpoint = PER_ENDPOINT } = this.#parts
    const limit = concurrency - this.#posts.size
    // The end of a post wakes us.
    if (limit <= 0) return 'enough'
    const leasedUntil = now + LEASE_MS
    const after = this.#after
    const page = await store.leaseDeliveries({ nodeId, now, leasedUntil, limit, perEndpoint, after, until })
    this.#after = page.after
    for (const one of page.leased) this.#begin(one, leasedUntil)
    return page.isCutShort ? 'more' : 'enough'
  }

  /** The URLs of Jobs are signed with it, and somebody must have made it. */
  async #declareDefaultSecret(): Promise<void> {
    if (this.#hasDefaultSecret) return
    await this.#parts.store.declareDefaultSecret(newWebhookSecret())
    this.#hasDefaultSecret = true
  }

  #begin(leased: LeasedDelivery, leasedUntil: number): void {
    // A look that outlived its sender: whoever comes next finds the lease over.
    if (!this.#lookout.isRunning) return
    const { deliveryId } = leased.delivery
    const { lease } = leased
    const underWay = this.#posts.get(deliveryId)
    if (underWay !== undefined) {
      // It is being sent already, and is not sent a second time: the answer that comes counts for this lease.
      Object.assign(underWay, { lease, leasedUntil })
      return
    }
    const breaker = new AbortController()
    const end = this.#send(leased, breaker.signal).finally(() => {
      this.#posts.delete(deliveryId)
      this.#lookout.wake()
    })
    this.#posts.set(deliveryId, { lease, leasedUntil, breaker, end })
  }

  /** Never rejects. */
  async #send(leased: LeasedDelivery, signal: AbortSignal): Promise<void> {
    const { deliveryId, webhookId, attempts } = leased.delivery
    const result = await this.#post(leased, signal)
    // Whether it arrived is not known: somebody else sends it again, and the receiver knows it by its id.
    if (result.kind === 'failed' && signal.aborted) return
    const verdict = judgeAttempt(result, attempts + 1, this.#parts.clock.now())
    if (verdict.disableWebhook !== null && webhookId !== null) {
      this.#parts.logger.warn({ webhookId }, `A webhook is disabled: ${verdict.disableWebhook}`)
    }
    await this.#record(deliveryId, verdict)
  }

  async #post(leased: LeasedDelivery, signal: AbortSignal): Promise<PostResult> {
    const { poster, clock, logger } = this.#parts
    const { deliveryId } = leased.delivery
    try {
      const body = renderDelivery(leased)
      const headers = { ...signatureHeaders(leased.secrets, deliveryId, clock.now(), body) }
      return await poster.post({ url: leased.url, headers, body, signal })
    } catch (error) {
      logger.error({ error, deliveryId }, 'A delivery could not be made')
      return { kind: 'failed', latencyMs: 0, message: 'The message could not be made or signed.' }
    }
  }

  /** Repeated while the store cannot take it, as long as the lease lasts: else what arrived would be sent again. */
  async #record(deliveryId: string, verdict: AttemptVerdict): Promise<void> {
    const { store, clock, logger } = this.#parts
    for (let isLogged = false; ; isLogged = true) {
      const post = this.#posts.get(deliveryId)
      if (post === undefined) return
      try {
        await store.recordDeliveryAttempts([{ lease: post.lease, deliveryId, ...verdict }])
        return
      } catch (error) {
        if (post.breaker.signal.aborted || clock.now() >= post.leasedUntil) return
        if (!isLogged) logger.error({ error, deliveryId }, 'A delivery cannot be recorded; trying again')
      }
      await delay(clock, RECORD_AGAIN_MS)
    }
  }

  async #ended(): Promise<void> {
    await this.#lookout.stop()
    await Promise.all([...this.#posts.values()].map(({ end }) => end))
  }

  async #giveBack(): Promise<void> {
    const { store, clock, logger, nodeId } = this.#parts
    try {
      await store.releaseDeliveries(nodeId, clock.now())
    } catch (error) {
      logger.warn({ error }, 'Deliveries could not be given back; others send them when their leases are over')
    }
  }

  /** Waits for the work, which never rejects, but not longer than the grace. */
  async #withinGrace(work: Promise<void>): Promise<void> {
    let timer: Timer | undefined
    const timeIsUp = new Promise<void>((resolve) => {
      timer = this.#parts.clock.after(STOP_GRACE_MS, resolve)
    })
    await Promise.race([work, timeIsUp]).finally(() => timer?.cancel())
  }
}
