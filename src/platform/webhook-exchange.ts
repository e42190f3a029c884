import type { Socket } from 'node:net'
import { readExcerpt } from './webhook-answer.ts'

const ANSWER_HEADER_BYTES_MAX = 16_384
/** A longer answer is cut off: nothing in it is worth more of our memory or time. */
const ANSWER_BYTES_MAX = 65_536
/** All that may come in, also what is neither header nor body: it costs no memory, but time of the whole process. */
const INCOMING_BYTES_MAX = 8 * ANSWER_BYTES_MAX

export interface Exchange {
  readonly socket: Socket
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly onStatus: (statusCode: number) => void
  readonly signal: AbortSignal
}

export interface Answer {
  readonly statusCode: number
  readonly excerpt: string
  readonly retryAfter: string | readonly string[] | undefined
}

/** Posts once over the connection, reads the answer and ends the connection. Redirects are answers like any other. */
export async function exchange({ socket, url, headers, body, onStatus, signal }: Exchange): Promise<Answer> {
  // Loading it takes a while, and sets the dispatcher of the global `fetch`: only who uses webhooks shall pay for that.
  const { Client } = await import('undici')
  let isHandedOver = false
  const client = new Client(url.origin, {
    connect: (_options, handOver) =>
      queueMicrotask(() => {
        // A client that lost its connection asks for another. There is none: it might lead elsewhere.
        if (isHandedOver) return handOver(new Error('the other side closed the connection'), null)
        isHandedOver = true
        handOver(null, socket)
        socket.on('readable', () => {
          if (socket.bytesRead > INCOMING_BYTES_MAX) socket.destroy(new Error('the answer is too long'))
        })
      }),
    maxHeaderSize: ANSWER_HEADER_BYTES_MAX,
    maxResponseSize: ANSWER_BYTES_MAX,
    // The signal ends everything in time.
    headersTimeout: 0,
    bodyTimeout: 0,
  })
  try {
    const answer = await client.request({
      method: 'POST',
      path: `${url.pathname}${url.search}`,
      headers: { 'content-type': 'application/json', ...lowerCased(headers), 'user-agent': 'Pawl' },
      body,
      reset: true,
      signal,
    })
    onStatus(answer.statusCode)
    const excerpt = await readExcerpt(answer.body)
    return { statusCode: answer.statusCode, excerpt, retryAfter: answer.headers['retry-after'] }
  } finally {
    await client.destroy()
  }
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}
