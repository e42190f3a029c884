import { connect, type Socket } from 'node:net'

export interface Answer {
  readonly status: number
  /** Without its parameters. */
  readonly type: string
  readonly text: string
}

/** Whatever was asked, an answer comes within this time. */
export const ANSWERED_WITHIN_MS = 20_000

/** One kept-alive connection, which sends whatever it is given and reads one answer after the other. */
export class Connection {
  readonly #port: number
  #socket: Socket | null = null
  #received: Buffer = Buffer.alloc(0)
  #look: (() => void) | null = null
  #isEnded = false

  constructor(port: number) {
    this.#port = port
  }

  /** Sends a request, and waits for its answer. */
  async ask(bytes: Buffer, isHead: boolean): Promise<Answer> {
    const socket = this.#socket ?? this.#open()
    socket.write(bytes)
    const deadline = performance.now() + ANSWERED_WITHIN_MS
    const head = await this.#until(deadline, () => {
      const end = this.#received.indexOf('\r\n\r\n')
      return end === -1 ? null : this.#take(end + 4).toString('latin1')
    })
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1] ?? 0)
    const type = (headerOf(head, 'content-type') ?? '').split(';')[0] as string
    const isBare = isHead || status === 204 || status === 304
    // A stream has no end.
    const text = isBare || type === 'text/event-stream' ? '' : (await this.#body(head, deadline)).toString()
    if (type === 'text/event-stream' || headerOf(head, 'connection') === 'close') this.close()
    return { status, type, text }
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = null
    this.#received = Buffer.alloc(0)
  }

  #open(): Socket {
    const socket = connect({ host: '127.0.0.1', port: this.#port, noDelay: true })
    this.#socket = socket
    this.#isEnded = false
    socket.on('data', (chunk: Buffer) => {
      if (socket !== this.#socket) return
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
      this.#look?.()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      if (socket !== this.#socket) return
      this.#isEnded = true
      this.#look?.()
    })
    return socket
  }

  async #body(head: string, deadline: number): Promise<Buffer> {
    const length = headerOf(head, 'content-length')
    if (length !== null) return this.#bytes(Number(length), deadline)
    if (headerOf(head, 'transfer-encoding') !== 'chunked') throw new Error('The answer does not say how long it is')
    const chunks: Buffer[] = []
    for (;;) {
      const size = await this.#until(deadline, () => {
        const end = this.#received.indexOf('\r\n')
        return end === -1 ? null : Number.parseInt(this.#take(end + 2).toString('latin1'), 16)
      })
      chunks.push((await this.#bytes(size + 2, deadline)).subarray(0, size))
      if (size === 0) return Buffer.concat(chunks)
    }
  }

  #bytes(length: number, deadline: number): Promise<Buffer> {
    return this.#until(deadline, () => (this.#received.length < length ? null : this.#take(length)))
  }

  #take(length: number): Buffer {
    const taken = this.#received.subarray(0, length)
    this.#received = this.#received.subarray(length)
    return taken
  }

  async #until<Found>(deadline: number, look: () => Found | null): Promise<Found> {
    const at = look()
    if (at !== null) return at
    try {
      return await new Promise<Found>((resolve, reject) => {
        const timer = setTimeout(
          () => reject(new Error(`No answer within ${ANSWERED_WITHIN_MS} ms`)),
          Math.max(0, deadline - performance.now()),
        )
        this.#look = () => {
          const found = look()
          if (found === null && !this.#isEnded) return
          clearTimeout(timer)
          if (found === null) reject(new Error('The connection was closed without an answer'))
          else resolve(found)
        }
        if (this.#isEnded) this.#look()
      })
    } catch (error) {
      this.close()
      throw error
    } finally {
      this.#look = null
    }
  }
}

function headerOf(head: string, name: string): string | null {
  const lower = head.toLowerCase()
  const at = lower.indexOf(`\r\n${name}:`)
  if (at === -1) return null
  const from = at + name.length + 3
  return lower.slice(from, lower.indexOf('\r\n', from)).trim()
}
