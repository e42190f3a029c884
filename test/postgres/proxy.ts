import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

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
  /** What the server answers does not reach the client any more. */
  isDeaf: boolean
}

export class Proxy implements AsyncDisposable {
  readonly #listener: Server
  readonly #target: URL
  readonly #pairs = new Set<Pair>()
  /** Until when what was sent to a socket is still on its way. */
  readonly #busyUntil = new WeakMap<Socket, number>()
  #delayMs = 0
  #isFrozen = false
  #isDeaf = false
  #isRefusing = false
  #losing: { readonly statement: string; readonly tag: string; readonly lost: () => void } | null = null

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

  /**
   * The next connection that sends this statement is broken after the server has carried it out and before the client hears
   * of it. `tag` is how the server answers it. Resolves when that has happened.
   */
  loseReplyTo(statement = 'commit', tag = 'COMMIT'): Promise<void> {
    return new Promise((lost) => {
      this.#losing = { statement, tag: `${tag}\0`, lost }
    })
  }

  /** Forwards everything again, also what was held back. Connections that heard nothing are broken: they missed answers. */
  heal(): void {
    this.#delayMs = 0
    this.#isFrozen = false
    this.#isDeaf = false
    this.#isRefusing = false
    this.#losing = null
    for (const pair of this.#pairs) {
      if (pair.isDeaf) this.#break(pair)
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
    const pair: Pair = { client, server, isDeaf: this.#isDeaf }
    this.#pairs.add(pair)
    for (const socket of [client, server]) {
      socket.setNoDelay(true)
      socket.on('error', () => this.#break(pair))
      socket.on('close', () => this.#break(pair))
      if (this.#isFrozen) socket.pause()
    }
    client.on('data', (chunk) => {
      const losing = this.#losing
      if (losing !== null && chunk.includes(losing.statement)) {
        this.#losing = null
        this.#loseReply(pair, losing)
      }
      this.#forward(server, chunk)
    })
    server.on('data', (chunk) => {
      if (!pair.isDeaf) this.#forward(client, chunk)
    })
  }

  #loseReply(pair: Pair, { tag, lost }: { readonly tag: string; readonly lost: () => void }): void {
    pair.isDeaf = true
    let heard = Buffer.alloc(0)
    pair.server.on('data', (chunk) => {
      heard = Buffer.concat([heard, chunk])
      if (!heard.includes(tag)) return
      this.#break(pair)
      lost()
    })
  }

  /** Nothing overtakes what was sent before it, also when the delay has changed in between. */
  #forward(to: Socket, chunk: Buffer): void {
    const now = performance.now()
    const dueAt = Math.max(now + this.#delayMs, this.#busyUntil.get(to) ?? 0)
    if (dueAt <= now) return void to.write(chunk)
    this.#busyUntil.set(to, dueAt)
    setTimeout(() => to.write(chunk), dueAt - now)
  }

  #break(pair: Pair): void {
    if (!this.#pairs.delete(pair)) return
    for (const socket of [pair.client, pair.server]) socket.destroy()
  }
}
