import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { beforeAll, expect, test, vi } from 'vitest'
import type { PostResult } from '../../src/platform/webhook-post.ts'
import { messageTo, PATIENCE, posterTo127, type Receiver, receiveTcp } from './support/receiver.ts'

// Campaign 7 of the quality plan: whatever a receiver does, a post ends in time, in bounded memory, without a trace.

const TIMEOUT_MS = 500

beforeAll(() => import('undici'))

async function postTo(receiver: Receiver, body = '{}'): Promise<PostResult> {
  const startedAt = performance.now()
  const result = await posterTo127({ timeoutMs: TIMEOUT_MS }).post(messageTo(receiver.url, { body }))
  // Generous, for a busy machine, but far from "for ever".
  expect(performance.now() - startedAt).toBeLessThan(5_000)
  await receiver.isLeft()
  expect(JSON.stringify(result)).not.toMatch(/top-secret|node_modules|\.c:|\.js/)
  return result
}

type Behaviour = (socket: Socket) => void

/** Writes as fast as the other side reads, until it is gone. */
function flooding(text: string): Behaviour {
  const chunk = text.repeat(Math.ceil(65_536 / text.length))
  return (socket) => {
    const write = (): void => {
      while (!socket.destroyed && socket.write(chunk)) {
        // Until the buffer is full.
      }
    }
    socket.on('drain', write)
    write()
  }
}

/** A little now and then: never silent, never done. */
function dripping(text: string): Behaviour {
  return (socket) => {
    const timer = setInterval(() => socket.write(text), 20)
    socket.on('close', () => clearInterval(timer))
  }
}

/** Waits for the request, says this, and goes on with that. */
function saying(text: string | Buffer, goOn: Behaviour): Behaviour {
  return (socket) => {
    socket.once('data', () => {
      socket.write(text)
      goOn(socket)
    })
  }
}

function answering(text: string | Buffer): Behaviour {
  return saying(text, (socket) => void socket.end())
}

function waiting(): void {}

const OK = 'HTTP/1.1 200 OK\r\n'
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`

test.each<[what: string, Behaviour]>([
  ['never answers', waiting],
  ['never reads the request', (socket) => void socket.pause()],
  ['drips its status line', saying('HTTP/1.1 200 ', dripping('O'))],
  ['drips its headers', saying(OK, dripping('x'))],
  ['drips early hints', saying('', dripping('HTTP/1.1 103 Early Hints\r\n\r\n'))],
])('a receiver that %s has failed after the timeout', async (_what, behaviour) => {
  const result = await postTo(await receiveTcp(behaviour), 'x'.repeat(6_000_000))
  expect(result).toEqual({
    kind: 'failed',
    latencyMs: expect.any(Number),
    message: `No complete answer within ${TIMEOUT_MS} ms; stopped while waiting for the answer.`,
  })
})

test.each<[what: string, Behaviour]>([
  ['drips its body', saying(`${OK}\r\n`, dripping('x'))],
  ['drips its body in chunks', saying(CHUNKED, dripping('1\r\nx\r\n'))],
  ['stops in the middle of its body', saying(`${OK}Content-Length: 9\r\n\r\nhalf`, waiting)],
  ['drips a chunk extension', saying(`${CHUNKED}1;`, dripping('x'))],
])('a receiver that %s has failed after the timeout, and its status is known', async (_what, behaviour) => {
  const result = await postTo(await receiveTcp(behaviour))
  expect(result).toMatchObject({
    kind: 'failed',
    statusCode: 200,
    message: `No complete answer within ${TIMEOUT_MS} ms; stopped while reading the answer.`,
  })
})

const TOO_LONG_HEADERS = 'the headers are too long'
const TOO_LONG_BODY = 'the body is too long'
const TOO_LONG = 'the answer is too long'

test.each<[what: string, beginning: string, endless: string, words: string, statusCode?: number]>([
  ['one endless header', `${OK}x: `, 'x', TOO_LONG_HEADERS],
  ['endless headers', OK, 'x-again: and again\r\n', TOO_LONG_HEADERS],
  ['endless trailers', `${CHUNKED}0\r\n`, 'x-again: and again\r\n', TOO_LONG_HEADERS, 200],
  ['an endless body', `${OK}\r\n`, 'x', TOO_LONG_BODY, 200],
  ['an endless body of announced length', `${OK}Content-Length: 99999999999\r\n\r\n`, 'x', TOO_LONG_BODY, 200],
  ['an endless chunk', `${CHUNKED}ffffffff\r\n`, 'x', TOO_LONG_BODY, 200],
  ['an endless chunk extension', `${CHUNKED}1;`, 'x', TOO_LONG, 200],
  ['endless early hints', '', 'HTTP/1.1 103 Early Hints\r\n\r\n', TOO_LONG],
])('a receiver that sends %s is cut off', async (_what, beginning, endless, words, statusCode) => {
  let sent = 0
  const receiver = await receiveTcp((socket) => {
    saying(beginning, flooding(endless))(socket)
    socket.on('close', () => {
      sent = socket.bytesWritten
    })
  })
  const result = await postTo(receiver)
  expect(result).toMatchObject({ kind: 'failed', message: expect.stringContaining(words) })
  expect(result.kind === 'failed' && result.statusCode).toBe(statusCode)
  // What the operating system holds in flight, and not a stream that went on.
  expect(sent).toBeLessThan(32 * 1024 * 1024)
})

test.each<[what: string, Behaviour]>([
  ['closes at once', (socket) => void socket.destroy()],
  ['resets at once', (socket) => void socket.resetAndDestroy()],
  ['closes after the request', answering('')],
  ['resets after the request', saying('', (socket) => void socket.resetAndDestroy())],
  ['closes in the middle of its headers', answering(OK)],
  ['closes in the middle of its body', answering(`${OK}Content-Length: 9\r\n\r\nhalf`)],
  ['closes in the middle of a chunk', answering(`${OK}Transfer-Encoding: chunked\r\n\r\n9\r\nhalf`)],
  ['speaks SSH', (socket) => void socket.write('SSH-2.0-OpenSSH_9.2\r\n')],
  ['speaks nonsense', answering(Buffer.from(Array.from({ length: 4_096 }, (_, index) => (index * 131) % 256)))],
  ['speaks HTTP/2', answering(Buffer.from('000012040000000000', 'hex'))],
  ['asks to continue', answering('HTTP/1.1 100 Continue\r\n\r\n')],
  ['switches protocols', answering('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n')],
  ['gives two lengths', answering(`${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx`)],
  ['gives a length and chunks', answering(`${OK}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`)],
])('a receiver that %s has failed at once', async (_what, behaviour) => {
  const result = await postTo(await receiveTcp(behaviour))
  expect(result).toMatchObject({ kind: 'failed', message: expect.stringMatching(/^Failed while .+: .+\.$/) })
})

test('a port where nobody listens refuses the connection', async () => {
  const result = await posterTo127().post(messageTo('http://127.0.0.1:1/?token=top-secret'))
  expect(result).toMatchObject({
    kind: 'failed',
    message: 'Failed while connecting: the connection was refused (ECONNREFUSED).',
  })
})

test('a second answer nobody asked for is not read', async () => {
  const answer = (text: string) => `${OK}Content-Length: ${text.length}\r\n\r\n${text}`
  const result = await postTo(await receiveTcp(answering(answer('first') + answer('second'))))
  expect(result).toMatchObject({ kind: 'answered', statusCode: 200, excerpt: 'first' })
})

test('a compressed answer stays compressed, so that it cannot grow', async () => {
  const bomb = gzipSync(Buffer.alloc(20_000_000))
  const head = `${OK}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`
  const result = await postTo(await receiveTcp(answering(Buffer.concat([Buffer.from(head), bomb]))))
  expect(result).toMatchObject({ kind: 'answered', excerpt: expect.stringContaining('\uFFFD') })
})

test('a body of exactly 64 KiB is read, one byte more is not', async () => {
  const bodyOf = (length: number) => answering(`${OK}Content-Length: ${length}\r\n\r\n${'x'.repeat(length)}`)
  expect(await postTo(await receiveTcp(bodyOf(65_536)))).toMatchObject({ kind: 'answered', excerpt: 'x'.repeat(1_024) })
  expect(await postTo(await receiveTcp(bodyOf(65_537)))).toMatchObject({ kind: 'failed', statusCode: 200 })
})

test('one receiver that never answers holds up no other', async () => {
  const silent = await receiveTcp(waiting)
  const fine = await receiveTcp(answering(`${OK}Content-Length: 0\r\n\r\n`))
  const poster = posterTo127()
  const stuck = Array.from({ length: 200 }, () => poster.post(messageTo(silent.url)))
  await vi.waitFor(() => expect(silent.open.size).toBe(200), PATIENCE)
  expect(await poster.post(messageTo(fine.url))).toMatchObject({ kind: 'answered', statusCode: 200 })
  await poster.close()
  await Promise.all(stuck)
})
