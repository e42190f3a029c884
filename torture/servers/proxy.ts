import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { type Answer, Conversation } from './conversation.ts'

/** Where a proxy leads to: a server, or whatever has a URL. */
interface Target {
  readonly url: string
}

/** Starts a TCP proxy before a server, to see what becomes of the connections when the network misbehaves. */
export async function startProxy(target: Target): Promise<Proxy> {
  const server = createServer()
  const proxy = new Proxy(server, target)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return proxy
}

/** One connection of a client, and its other half to the server. */
interface Pair {
  readonly client: Socket
  readonly server: Socket
  readonly conversation: Conversation
  /** What the server answers does not reach the client any more. */
  isDeaf: boolean
  /** Nothing is forwarded any more, whatever becomes of the others. */
  isSilent: boolean
  /** The commit behind this request is not to be heard of. */
  losing: Losing | null
}

interface Losing {
  readonly request: number
  readonly lost: (tag: string) => void
  /** Messages of one answer. Whether they may be forwarded shows at its end. */
  held: Buffer[]
  tag: string
}

/** What to do about the next statement of which the text fits. */
interface Ambush {
  readonly fits: RegExp
  readonly spring: (pair: Pair, request: number) => void
}

export class Proxy implements AsyncDisposable {
  readonly #listener: Server
  readonly #target: URL
  readonly #pairs = new Set<Pair>()
  /** What was sent to a socket and has not arrived yet, in its order. */
  readonly #onTheirWay = new WeakMap<Socket, { readonly chunk: Buffer; readonly dueAt: number }[]>()
  #delayMs = 0
  #isFrozen = false
  #isDeaf = false
  #isRefusing = false
  #ambush: Ambush | null = null

  constructor(listener: Server, target: Target) {
    this.#listener = listener
    this.#target = new URL(target.url)
    listener.on('connection', (client) => this.#accept(client))
  }

  /** The same database, by way of the proxy. */
  get url(): string {
    const url = new URL(this.#target)
    url.hostname = '127.0.0.1'
    url.port = `${(this.#listener.address() as AddressInfo).port}`
    return url.toString()
  }

  /** How many connections go through it now. */
  get connections(): number {
    return this.#pairs.size
  }

  /** Breaks all connections at once, on both sides. New ones are accepted. */
  cut(): void {
    for (const pair of this.#pairs) this.#break(pair)
  }

  /** Breaks all connections, and every new one, until `heal`. */
  refuse(): void {
    this.#isRefusing = true
    this.cut()
  }

  /** From now on everything takes so much longer, in each direction. */
  delay(ms: number): void {
    this.#delayMs = ms
  }

  /** Half-open: nothing is forwarded any more, and nobody is told. New connections are accepted and stay silent too. */
  freeze(): void {
    this.#isFrozen = true
    for (const { client, server } of this.#pairs) for (const socket of [client, server]) socket.pause()
  }

  /** The server still gets everything, and the clients hear nothing any more. Also of new connections, until `heal`. */
  dropReplies(): void {
    this.#isDeaf = true
    for (const pair of this.#pairs) pair.isDeaf = true
  }

  /** Half-open for good: the connections of this moment stay silent until `heal` breaks them. New ones work. */
  silence(): void {
    for (const pair of this.#pairs) {
      pair.isSilent = true
      for (const socket of [pair.client, pair.server]) socket.pause()
    }
  }

  /**
   * The next commit of a transaction with such a statement, which may be a transaction by itself, is carried out by the server,
   * and its connection is broken before the client hears of it. Resolves when that has happened, with what the client would
   * have heard last: `COMMIT`, or of a statement by itself such as `SELECT 3`.
   */
  loseReplyTo(fits: RegExp = /^commit$/): Promise<string> {
    return new Promise((lost) => {
      this.#ambush = {
        fits,
        spring(pair, request) {
          pair.losing = { request, lost, held: [], tag: '' }
        },
      }
    })
  }

  /** Breaks all connections when such a statement is sent, before the server gets it. Resolves when that has happened. */
  cutAt(fits: RegExp): Promise<void> {
    return this.#when(fits, () => this.cut())
  }

  /** Resolves when such a statement is sent. */
  hears(fits: RegExp): Promise<void> {
    return this.#when(fits, () => {})
  }

  /** Like `cutAt`, but they become silent for good. */
  silenceAt(fits: RegExp): Promise<void> {
    return this.#when(fits, () => this.silence())
  }

  #when(fits: RegExp, act: () => void): Promise<void> {
    return new Promise((resolve) => {
      this.#ambush = {
        fits,
        spring: () => {
          act()
          resolve()
        },
      }
    })
  }

  /** Forwards everything again, also what was held back. Connections that missed something, or are silent for good, are broken. */
  heal(): void {
    this.#delayMs = 0
    this.#isFrozen = false
    this.#isDeaf = false
    this.#isRefusing = false
    this.#ambush = null
    for (const pair of this.#pairs) {
      if (pair.isDeaf || pair.isSilent) this.#break(pair)
      else for (const socket of [pair.client, pair.server]) socket.resume()
    }
  }

  async close(): Promise<void> {
    this.cut()
    this.#listener.close()
    await once(this.#listener, 'close')
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #accept(client: Socket): void {
    if (this.#isRefusing) return void client.resetAndDestroy()
    const server = connect(Number(this.#target.port || 5432), this.#target.hostname)
    const conversation = new Conversation()
    const pair: Pair = { client, server, conversation, isDeaf: this.#isDeaf, isSilent: false, losing: null }
    this.#pairs.add(pair)
    for (const socket of [client, server]) {
      socket.setNoDelay(true)
      socket.on('error', () => this.#break(pair))
      socket.on('close', () => this.#break(pair))
      if (this.#isFrozen) socket.pause()
    }
    client.on('data', (chunk) => {
      for (const { text, request } of conversation.hear(chunk)) this.#lookOut(pair, text, request)
      if (this.#pairs.has(pair) && !pair.isSilent) this.#forward(server, chunk)
    })
    server.on('data', (chunk) => {
      const heard = conversation.read(chunk).flatMap((answer) => this.#heardOf(pair, answer))
      if (!pair.isDeaf && heard.length > 0) this.#forward(client, Buffer.concat(heard))
    })
  }

  #lookOut(pair: Pair, text: string, request: number): void {
    const ambush = this.#ambush
    if (ambush === null || !ambush.fits.test(text)) return
    this.#ambush = null
    ambush.spring(pair, request)
  }

  /** What the client hears of an answer. Of one that may tell of the commit nothing, until it is known that it does not. */
  #heardOf(pair: Pair, { bytes, request, state, tag }: Answer): Buffer[] {
    const { losing } = pair
    if (losing === null || request < losing.request) return [bytes]
    losing.held.push(bytes)
    losing.tag = tag ?? losing.tag
    if (state === null) return []
    if (state === 'in-transaction') return losing.held.splice(0)
    this.#break(pair)
    losing.lost(losing.tag)
    return []
  }

  /** Nothing overtakes what was sent before it, also when the delay has changed in between: timers alone would not see to that. */
  #forward(to: Socket, chunk: Buffer): void {
    const waiting = this.#onTheirWay.get(to)
    const dueAt = performance.now() + this.#delayMs
    if (waiting !== undefined) waiting.push({ chunk, dueAt })
    else if (this.#delayMs === 0) to.write(chunk)
    else {
      this.#onTheirWay.set(to, [{ chunk, dueAt }])
      this.#deliver(to)
    }
  }

  #deliver(to: Socket): void {
    const waiting = this.#onTheirWay.get(to) ?? []
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      const leftMs = next.dueAt - performance.now()
      if (leftMs > 0) return void setTimeout(() => this.#deliver(to), Math.ceil(leftMs))
      waiting.shift()
      to.write(next.chunk)
    }
    this.#onTheirWay.delete(to)
  }

  #break(pair: Pair): void {
    if (!this.#pairs.delete(pair)) return
    for (const socket of [pair.client, pair.server]) socket.destroy()
  }
}
