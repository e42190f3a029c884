import { connect, type Socket } from 'node:net'

const DRIP_EVERY_MS = 500

/** The server cuts off a head that takes longer than 15 s, and looks every 5 s. */
const HEAD_CUT_OFF_MS = 30_000

/** Callers that take a place and give nothing: nobody else may notice. */
export class SlowCallers {
  readonly #sockets: Socket[] = []
  readonly #timers: NodeJS.Timeout[] = []
  readonly #startedAt = performance.now()
  #isHeadOpen = true

  constructor(port: number, key: string) {
    const auth = `Host: localhost\r\nAuthorization: Bearer ${key}\r\n`
    const body = '{"type":"story","params":{}}'
    const head = this.#drip(port, `GET /api/jobs HTTP/1.1\r\n${auth}X-Slow: ${'x'.repeat(10_000)}`)
    head.on('close', () => {
      this.#isHeadOpen = false
    })
    const post = `POST /api/jobs HTTP/1.1\r\n${auth}Content-Type: application/json\r\nContent-Length: 10000\r\n\r\n`
    this.#drip(port, body.padEnd(10_000), post)
    // Silent.
    this.#connect(port).resume()
    // Asks a lot, and reads nothing.
    const deaf = this.#connect(port)
    deaf.pause()
    deaf.write(`GET /openapi.json HTTP/1.1\r\n${auth}\r\n`.repeat(40))
    // A stream whose events are never read.
    const stream = this.#connect(port)
    stream.pause()
    stream.write(`GET /api/events HTTP/1.1\r\n${auth}\r\n`)
  }

  /** What should have been cut off by now, and was not. */
  complaints(): string[] {
    const isOverdue = this.#isHeadOpen && performance.now() - this.#startedAt > HEAD_CUT_OFF_MS
    return isOverdue ? [`a head that came byte by byte was not cut off within ${HEAD_CUT_OFF_MS} ms`] : []
  }

  end(): void {
    for (const timer of this.#timers) clearInterval(timer)
    for (const socket of this.#sockets) socket.destroy()
  }

  #drip(port: number, text: string, before = ''): Socket {
    const socket = this.#connect(port)
    socket.resume().write(before)
    let at = 0
    this.#timers.push(
      setInterval(() => {
        if (socket.writable) socket.write(text[at++ % text.length] ?? 'x')
      }, DRIP_EVERY_MS),
    )
    return socket
  }

  #connect(port: number): Socket {
    const socket = connect({ host: '127.0.0.1', port })
    socket.on('error', () => {})
    this.#sockets.push(socket)
    return socket
  }
}
