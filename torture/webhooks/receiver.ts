import { createHash, createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from 'node:net'
import { createServer as createTls } from 'node:tls'
import type { Behaviour } from './behaviours.ts'
import { type Certificate, makeCertificate } from './certificate.ts'

/** One message as it came. */
export interface Received {
  readonly path: string
  readonly id: string
  readonly timestamp: string
  readonly signature: string
  readonly body: string
}

/** Names that only this run knows. */
export const GOOD_NAME = 'good.test'

const CERTIFICATES = {
  right: makeCertificate({ names: ['127.0.0.1', GOOD_NAME] }),
  expired: makeCertificate({ names: ['127.0.0.1'], notAfter: '210101000000Z' }),
  'of-another-host': makeCertificate({ names: ['example.com'] }),
  'of-nobody': makeCertificate({ names: ['127.0.0.1'] }),
} as const satisfies Record<string, Certificate>

/** Those that the sender trusts: what is wrong with the others is not who made them. */
export const TRUSTED = [CERTIFICATES.right, CERTIFICATES.expired, CERTIFICATES['of-another-host']]
  .map(({ cert }) => cert)
  .join('')

/** Somebody who is posted to, and who keeps what came. */
export class Receiver {
  readonly behaviour: Behaviour
  readonly received: Received[] = []
  /** How often somebody connected. */
  connections = 0
  /** The most that were open at once. */
  openMost = 0
  readonly #server: Server
  readonly #open = new Set<Socket>()
  /** Nobody else's: who had this port before may still be posted to, by senders of other trials and campaigns. */
  readonly #path = `/hook/${randomUUID()}`

  static async open(behaviour: Behaviour, forbiddenUrl: string): Promise<Receiver> {
    const receiver = new Receiver(behaviour, forbiddenUrl)
    await new Promise<void>((resolve) => {
      receiver.#server.listen({ port: 0, host: '127.0.0.1', backlog: 1_024 }, resolve)
    })
    return receiver
  }

  private constructor(behaviour: Behaviour, forbiddenUrl: string) {
    this.behaviour = behaviour
    const { certificate } = behaviour
    const take = (socket: Socket) => this.#take(withAddress(socket, forbiddenUrl))
    this.#server = certificate === undefined ? createTcp(take) : createTls(CERTIFICATES[certificate], take)
    this.#server.on('connection', (socket: Socket) => this.#watch(socket))
    // A handshake that the other side broke off.
    this.#server.on('tlsClientError', () => {})
  }

  get url(): string {
    const { certificate, isPlainOnTlsPort, hasName } = this.behaviour
    const scheme = certificate !== undefined || isPlainOnTlsPort === true ? 'https' : 'http'
    return `${scheme}://${hasName === true ? GOOD_NAME : '127.0.0.1'}:${this.port}${this.#path}`
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    for (const socket of this.#open) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #watch(socket: Socket): void {
    this.connections++
    this.#open.add(socket)
    this.openMost = Math.max(this.openMost, this.#open.size)
    socket.on('error', () => {})
    socket.on('close', () => this.#open.delete(socket))
  }

  #take(socket: Socket): void {
    socket.on('error', () => {})
    const { onConnection, onRequest } = this.behaviour
    readRequest(socket, (received) => {
      if (received.path !== this.#path) return void socket.destroy()
      this.received.push(received)
      onRequest?.(socket)
    })
    onConnection?.(socket)
  }
}

/** What is written there tells the forbidden address as it is in this run. */
function withAddress(socket: Socket, forbiddenUrl: string): Socket {
  const { end } = socket
  socket.end = ((chunk?: unknown, ...rest: unknown[]) => {
    const text = typeof chunk === 'string' ? chunk.replaceAll('{forbidden}', forbiddenUrl) : chunk
    return Reflect.apply(end, socket, [text, ...rest]) as Socket
  }) as Socket['end']
  return socket
}

function readRequest(socket: Socket, done: (received: Received) => void): void {
  let bytes = Buffer.alloc(0)
  let isDone = false
  socket.on('data', (chunk: Buffer) => {
    if (isDone) return
    bytes = Buffer.concat([bytes, chunk])
    const end = bytes.indexOf('\r\n\r\n')
    if (end === -1) return
    const head = bytes.subarray(0, end).toString('latin1')
    const header = (name: string) => new RegExp(`^${name}: *(.*)$`, 'im').exec(head)?.[1]?.trim() ?? ''
    const length = Number(header('content-length'))
    if (bytes.length < end + 4 + length) return
    isDone = true
    done({
      path: head.split(' ')[1] ?? '',
      id: header('webhook-id'),
      timestamp: header('webhook-timestamp'),
      signature: header('webhook-signature'),
      body: bytes.subarray(end + 4, end + 4 + length).toString(),
    })
  })
}

/** Whether one of the signatures is that of this secret, by the Standard Webhooks specification. */
export function isSignedWith(secret: string, { id, timestamp, body, signature }: Received): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const right = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest()
  return signature.split(' ').some((one) => {
    const given = Buffer.from(one.replace(/^v1,/, ''), 'base64')
    return given.length === right.length && timingSafeEqual(given, right)
  })
}

export function digestOf(body: string): string {
  return createHash('sha256').update(body).digest('hex')
}
