import { createSecureContext, type SecureContext } from 'node:tls'
import { type AddressGuard, type Lookup, parseWebhookUrl, resolveHost, systemLookup } from './webhook-address.ts'
import { retryAfterMs } from './webhook-answer.ts'
import { openConnection } from './webhook-connection.ts'
import { type Answer, exchange } from './webhook-exchange.ts'
import { describeFailure, PostFailure } from './webhook-failure.ts'

const TIMEOUT_DEFAULT_MS = 10_000

export interface PostRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Ends the post early, as failed. */
  readonly signal?: AbortSignal
}

export type PostResult =
  | {
      /** The receiver answered, with whatever status: a redirect is an answer too, and is not followed. */
      readonly kind: 'answered'
      readonly statusCode: number
      readonly latencyMs: number
      /** The beginning of the answer's body, harmless to store and to show. */
      readonly excerpt: string
      readonly retryAfterMs: number | null
    }
  | {
      readonly kind: 'failed'
      readonly latencyMs: number
      readonly message: string
      /** There when the status arrived and only the rest of the answer failed. */
      readonly statusCode?: number
    }

export interface WebhookPosterOptions {
  readonly guard: AddressGuard
  /**
   * For the whole post: lookup, connection, headers and body.
   * @default 10_000
   */
  readonly timeoutMs?: number
  /** @default Date.now */
  readonly nowMs?: () => number
  /** @default the system's resolver */
  readonly lookup?: Lookup
  /** Certificate authorities to trust instead of the usual ones, in PEM form. */
  readonly ca?: string
}

/** Where a post is, so that a failure can say so. */
interface Progress {
  doing: string
  statusCode?: number
}

/**
 * Posts to receivers that nobody vouches for. Each post has a connection of its own, to an address that was checked, and
 * ends within the timeout whatever the receiver does. Never rejects.
 */
export class WebhookPoster {
  readonly #guard: AddressGuard
  readonly #timeoutMs: number
  readonly #nowMs: () => number
  readonly #lookup: Lookup
  readonly #ca: string | undefined
  readonly #running = new Map<AbortController, Promise<PostResult>>()
  readonly #lookups = new Map<string, Promise<readonly string[]>>()
  #secureContext: SecureContext | undefined
  #isClosed = false

  constructor(options: WebhookPosterOptions) {
    this.#guard = options.guard
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_DEFAULT_MS
    this.#nowMs = options.nowMs ?? Date.now
    this.#lookup = options.lookup ?? systemLookup
    this.#ca = options.ca
  }

  post(request: PostRequest): Promise<PostResult> {
    const ending = new AbortController()
    const result = this.#postUntil(ending, request).finally(() => this.#running.delete(ending))
    this.#running.set(ending, result)
    return result
  }

  /** Ends the posts under way, as failed, and their connections. Later posts fail at once. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const ending of this.#running.keys()) ending.abort(new PostFailure('Stopped: the sender closed.'))
    await Promise.all(this.#running.values())
  }

  async #postUntil(ending: AbortController, request: PostRequest): Promise<PostResult> {
    const startedAt = this.#nowMs()
    const progress: Progress = { doing: 'resolving the host name' }
    const stop = (): void => ending.abort(new PostFailure('Stopped before the answer was complete.'))
    const timer = setTimeout(() => {
      ending.abort(new PostFailure(`No complete answer within ${this.#timeoutMs} ms; stopped while ${progress.doing}.`))
    }, this.#timeoutMs)
    request.signal?.addEventListener('abort', stop)
    if (request.signal?.aborted || this.#isClosed) stop()
    try {
      const { statusCode, retryAfter, excerpt } = await this.#exchange(request, progress, ending.signal)
      const latencyMs = this.#since(startedAt)
      return { kind: 'answered', statusCode, latencyMs, excerpt, retryAfterMs: retryAfterMs(retryAfter, this.#nowMs()) }
    } catch (error) {
      const message = describeFailure(ending.signal.aborted ? ending.signal.reason : error, progress.doing)
      const { statusCode } = progress
      const status = statusCode === undefined ? {} : { statusCode }
      return { kind: 'failed', latencyMs: this.#since(startedAt), message, ...status }
    } finally {
      clearTimeout(timer)
      request.signal?.removeEventListener('abort', stop)
    }
  }

  async #exchange(request: PostRequest, progress: Progress, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted()
    const parsed = parseWebhookUrl(request.url)
    if (parsed.kind === 'refused') throw new PostFailure(parsed.message)
    const { url } = parsed
    const resolution = await orAborted(
      resolveHost(url, this.#guard, (hostname) => this.#sharedLookup(hostname)),
      signal,
    )
    if (resolution.kind !== 'resolved') throw new PostFailure(resolution.message)
    progress.doing = 'connecting'
    this.#secureContext ??= createSecureContext(this.#ca === undefined ? {} : { ca: this.#ca })
    const socket = await openConnection({
      url,
      addresses: resolution.addresses,
      guard: this.#guard,
      secureContext: this.#secureContext,
      onSecuring: () => {
        progress.doing = 'securing the connection'
      },
      signal,
    })
    try {
      progress.doing = 'waiting for the answer'
      const onStatus = (statusCode: number): void => {
        progress.doing = 'reading the answer'
        progress.statusCode = statusCode
      }
      return await exchange({ socket, url, headers: request.headers, body: request.body, onStatus, signal })
    } finally {
      socket.destroy()
    }
  }

  /**
   * Posts to one host share a lookup under way. A lookup occupies one of few system threads until it ends, so a host
   * whose name servers are silent would else occupy all of them and hold up every other receiver.
   */
  #sharedLookup(hostname: string): Promise<readonly string[]> {
    const underWay = this.#lookups.get(hostname)
    if (underWay !== undefined) return underWay
    const lookup = this.#lookup(hostname).finally(() => this.#lookups.delete(hostname))
    this.#lookups.set(hostname, lookup)
    return lookup
  }

  #since(startedAt: number): number {
    return Math.max(0, this.#nowMs() - startedAt)
  }
}

async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = (): void => {}
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason as Error)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop)
  })
  return await Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', stop))
}
