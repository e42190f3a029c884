import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { systemClock } from '../../platform/clock.ts'
import { problem } from '../problems.ts'
import { PROBLEM_TYPE, SAFE_HEADERS } from './send.ts'

/** Who sends slower is cut off: the head of a request, and all of it. */
const HEAD_TIMEOUT_MS = 15_000
const REQUEST_TIMEOUT_MS = 60_000
const TIMEOUTS_CHECKED_EVERY_MS = 5_000

/** How long a connection may stand idle between two requests. Longer than the usual proxy's, which must close first. */
const IDLE_TIMEOUT_MS = 65_000

const CONNECTIONS_MAX = 2_000
const HEAD_BYTES_MAX = 16_384

/** How long closing leaves idle connections open: a request may be on its way that was sent before we closed. */
const IDLE_GRACE_MS = 200

/** How long those are waited for that were told that there is no more time. */
const LAST_WORDS_MS = 2_000

/** The server's sockets: their limits, what garbage is answered, and their end. */
export class Connections {
  readonly server: Server
  readonly #sockets = new Set<Socket>()
  readonly #closed: Promise<void>

  constructor(listener: RequestListener) {
    this.server = createServer(
      {
        headersTimeout: HEAD_TIMEOUT_MS,
        requestTimeout: REQUEST_TIMEOUT_MS,
        connectionsCheckingInterval: TIMEOUTS_CHECKED_EVERY_MS,
        keepAliveTimeout: IDLE_TIMEOUT_MS,
        maxHeaderSize: HEAD_BYTES_MAX,
        // Who says no name is answered by us, like who says a wrong one.
        requireHostHeader: false,
      },
      listener,
    )
    this.server.maxConnections = CONNECTIONS_MAX
    this.server.on('connection', (socket) => this.#remember(socket))
    // Nobody listens for 'upgrade': who would like to go on in another protocol is answered in this one.
    this.server.on('connect', (_request, socket) => socket.end(answerTo('ECONNREFUSED_TUNNEL')))
    this.server.on('checkExpectation', (_request, response) => refuseExpectation(response))
    this.#closed = new Promise((resolve) => void this.server.once('close', resolve))
  }

  /** Bytes that are no request. Node has not read on since, so the connection ends with this. */
  readonly refuseGarbage = (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
    const { _httpMessage: answering } = socket as Socket & { readonly _httpMessage?: ServerResponse | null }
    if (answering == null) return void socket.end(answerTo(error.code ?? ''))
    // The rest of a request will not come any more, or half of its answer is out already.
    if (!answering.req.complete || answering.headersSent) return void socket.destroy()
    // A good request came before: it gets its answer, and then the connection ends.
    answering.shouldKeepAlive = false
  }

  /**
   * Takes no more connections and ends the others: idle ones after a moment, the rest when they are answered. `letGo` is
   * called when no more requests will come, `giveUp` when there is no more time.
   */
  async close(timeoutMs: number, { letGo, giveUp }: { letGo: () => void; giveUp: () => void }): Promise<void> {
    // Not http's own close: it would cut idle connections at once, and with them requests that are on their way.
    NetServer.prototype.close.call(this.server)
    if (await this.#closesWithin(Math.min(IDLE_GRACE_MS, timeoutMs))) return
    this.server.closeIdleConnections()
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy()
    letGo()
    if (await this.#closesWithin(timeoutMs - IDLE_GRACE_MS)) return
    giveUp()
    if (await this.#closesWithin(LAST_WORDS_MS)) return
    for (const socket of this.#sockets) socket.destroy()
    await this.#closed
  }

  #remember(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
  }

  /** Real time, whatever clock the scheduler has: the other ends of the sockets live in it. */
  async #closesWithin(timeoutMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = systemClock.after(Math.max(0, timeoutMs), () => resolve(false))
      void this.#closed.then(() => {
        timer.cancel()
        resolve(true)
      })
    })
  }
}

/** Of what it would send after all, nothing is known. */
function refuseExpectation(response: ServerResponse): void {
  const { headers, body } = toldOf(417, 'Expected the header `Expect` to be `100-continue` or left out.')
  response.writeHead(417, headers).end(body)
}

function answerTo(code: string): string {
  const [status, reason, detail] = refusalOf(code)
  const { headers, body } = toldOf(status, detail)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${reason}\r\n${lines.join('')}\r\n${body}`
}

function toldOf(status: number, detail: string) {
  const body = JSON.stringify(problem('malformed_request', detail, status))
  const length = Buffer.byteLength(body)
  const headers = { ...SAFE_HEADERS, 'content-type': PROBLEM_TYPE, 'content-length': length, connection: 'close' }
  return { headers, body }
}

function refusalOf(code: string): [status: number, reason: string, detail: string] {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return [431, 'Request Header Fields Too Large', `Expected a head of at most ${HEAD_BYTES_MAX} bytes, got more.`]
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return [413, 'Payload Too Large', 'Expected chunks without long extensions.']
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return [408, 'Request Timeout', 'The request did not arrive in time.']
    case 'ECONNREFUSED_TUNNEL':
      return [400, 'Bad Request', 'This server speaks only HTTP, and forwards nothing.']
    default:
      return [400, 'Bad Request', 'Expected an HTTP request, got something else.']
  }
}
