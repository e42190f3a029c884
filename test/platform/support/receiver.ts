import { createServer as createHttp, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from 'node:net'
import { afterEach, expect, vi } from 'vitest'
import { AddressGuard, type Lookup } from '../../../src/platform/webhook-address.ts'
import { type PostRequest, WebhookPoster, type WebhookPosterOptions } from '../../../src/platform/webhook-post.ts'
import type { Certificate } from './certificate.ts'

/** A real server on 127.0.0.1, gone after the test. */
export interface Receiver {
  readonly port: number
  readonly url: string
  /** How often somebody connected. */
  readonly connections: number
  /** Connections that are open now. */
  readonly open: ReadonlySet<Socket>
  /** How many bytes came in, over all connections that ended. */
  readonly bytes: number
  /** Waits until everybody has hung up. */
  isLeft(): Promise<void>
}

const endings: (() => Promise<void>)[] = []

afterEach(async () => {
  await Promise.all(endings.splice(0).map((end) => end()))
})

export interface HttpRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly body: string
}

/** A receiver that speaks HTTP: the callback answers each request once its body is there. */
export async function receiveHttp(
  answer: (message: HttpRequest) => void,
  certificate?: Certificate,
  host?: string,
): Promise<Receiver> {
  const onRequest: RequestListener = (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => answer({ request, response, body: Buffer.concat(chunks).toString() }))
  }
  const server = certificate === undefined ? createHttp(onRequest) : createHttps(certificate, onRequest)
  return await listen(server, certificate === undefined ? 'http' : 'https', host)
}

/** A receiver that does what it likes with a connection. */
export async function receiveTcp(onConnection: (socket: Socket) => void): Promise<Receiver> {
  return await listen(createTcp(onConnection), 'http')
}

async function listen(server: Server, scheme: string, host = '127.0.0.1'): Promise<Receiver> {
  const open = new Set<Socket>()
  const counts = { connections: 0, bytes: 0 }
  server.on('connection', (socket: Socket) => {
    counts.connections++
    open.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      open.delete(socket)
      counts.bytes += socket.bytesRead
    })
  })
  await new Promise<void>((resolve) => {
    server.listen({ port: 0, host, backlog: 4096 }, resolve)
  })
  endings.push(async () => {
    for (const socket of open) socket.destroy()
    await new Promise((resolve) => {
      server.close(resolve)
    })
  })
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `${scheme}://${host}:${port}/hook?token=top-secret`,
    open,
    get connections() {
      return counts.connections
    },
    get bytes() {
      return counts.bytes
    },
    async isLeft() {
      // Who does not read does not notice the end either.
      for (const socket of open) socket.resume()
      await vi.waitFor(() => expect(open.size).toBe(0), PATIENCE)
    },
  }
}

/** A poster that may connect to this machine, closed after the test. */
export function posterTo127(options: Partial<WebhookPosterOptions> = {}): WebhookPoster {
  const poster = new WebhookPoster({ guard: new AddressGuard(['127.0.0.0/8']), ...options })
  endings.push(() => poster.close())
  return poster
}

export function messageTo(url: string, changes: Partial<PostRequest> = {}): PostRequest {
  return { url, headers: {}, body: '{"event":"job.settled"}', ...changes }
}

/** A resolver that gives these answers one after the other, and the last for ever. */
export function lookupAnswering(...answers: readonly (readonly string[])[]): { lookup: Lookup; asked: string[] } {
  const asked: string[] = []
  const lookup: Lookup = async (hostname) => {
    asked.push(hostname)
    const answer = answers[Math.min(asked.length, answers.length) - 1] ?? []
    if (answer.length === 0) throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: 'ENOTFOUND' })
    return answer
  }
  return { lookup, asked }
}

export const PATIENCE = { timeout: 10_000, interval: 5 }
