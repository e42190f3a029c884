import type { TLSSocket } from 'node:tls'
import { beforeAll, expect, test, vi } from 'vitest'
import { type Certificate, makeCertificate } from './support/certificate.ts'
import { lookupAnswering, messageTo, posterTo127, receiveHttp, receiveTcp } from './support/receiver.ts'

const trusted = makeCertificate({ names: ['hooks.example', '127.0.0.1'] })
const byName = lookupAnswering(['127.0.0.1']).lookup

beforeAll(() => import('undici'))

function receiveTls(certificate: Certificate, onServerName: (name: unknown) => void = () => {}) {
  return receiveHttp(({ request, response }) => {
    onServerName((request.socket as TLSSocket).servername)
    response.end(request.headers.host)
  }, certificate)
}

test('the certificate must be for the name in the URL, although the connection goes to a pinned address', async () => {
  const serverNames: unknown[] = []
  const receiver = await receiveTls(trusted, (name) => serverNames.push(name))
  const poster = posterTo127({ ca: trusted.cert, lookup: byName })
  for (const host of ['hooks.example', 'hooks.example.', '127.0.0.1']) {
    const result = await poster.post(messageTo(`https://${host}:${receiver.port}/`))
    expect(result).toMatchObject({ kind: 'answered', statusCode: 200, excerpt: `${host}:${receiver.port}` })
  }
  // TLS knows no address as server name.
  expect(serverNames).toEqual(['hooks.example', 'hooks.example', false])
})

test('a certificate for another name fails, however many names it has', async () => {
  const receiver = await receiveTls(trusted)
  const result = await posterTo127({ ca: trusted.cert, lookup: byName }).post(
    messageTo(`https://other.example:${receiver.port}/?token=top-secret`),
  )
  expect(result).toMatchObject({ kind: 'failed', message: expect.stringContaining('ERR_TLS_CERT_ALTNAME_INVALID') })

  const wordy = makeCertificate({ names: Array.from({ length: 500 }, (_, index) => `host-${index}.example`) })
  const flooding = await receiveTls(wordy)
  const bounded = await posterTo127({ ca: wordy.cert, lookup: byName }).post(
    messageTo(`https://other.example:${flooding.port}/`),
  )
  expect(bounded.kind === 'failed' && bounded.message.length).toBe(300)
})

test('a self-signed certificate fails, also where the environment says that any is fine', async () => {
  const receiver = await receiveTls(trusted)
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
  const result = await posterTo127().post(messageTo(receiver.url))
  vi.unstubAllEnvs()
  expect(result).toMatchObject({
    kind: 'failed',
    message: 'Failed while securing the connection: the certificate is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT).',
  })
  await receiver.isLeft()
})

test('an expired certificate fails', async () => {
  const expired = makeCertificate({ names: ['127.0.0.1'], notAfter: '210101000000Z' })
  const receiver = await receiveTls(expired)
  const result = await posterTo127({ ca: expired.cert }).post(messageTo(receiver.url))
  expect(result).toMatchObject({ kind: 'failed', message: expect.stringContaining('CERT_HAS_EXPIRED') })
})

test('a receiver without TLS fails, without the file names of OpenSSL in the message', async () => {
  const receiver = await receiveHttp(({ response }) => response.end())
  const result = await posterTo127().post(messageTo(receiver.url.replace('http:', 'https:')))
  expect(result).toMatchObject({ kind: 'failed', message: expect.stringMatching(/^Failed while securing/) })
  expect(JSON.stringify(result)).not.toMatch(/\.c\b|deps|top-secret/)
})

test.each([
  ['never answers the handshake', '', 'No complete answer within 200 ms; stopped while securing the connection.'],
  ['answers the handshake with nonsense', 'nonsense', 'Failed while securing the connection: '],
])('a receiver that %s fails in time', async (_what, text, message) => {
  const receiver = await receiveTcp((socket) => void socket.write(text))
  const result = await posterTo127({ timeoutMs: 200 }).post(messageTo(receiver.url.replace('http:', 'https:')))
  expect(result).toMatchObject({ kind: 'failed', message: expect.stringContaining(message) })
  await receiver.isLeft()
})

test('a receiver that hangs up during the handshake fails at once', async () => {
  const receiver = await receiveTcp((socket) => void socket.once('data', () => socket.destroy()))
  const result = await posterTo127().post(messageTo(receiver.url.replace('http:', 'https:')))
  expect(result).toMatchObject({
    kind: 'failed',
    message: 'Failed while securing the connection: the other side closed the connection (ECONNRESET).',
  })
})

test('a receiver that floods an encrypted connection is cut off', async () => {
  const receiver = await receiveHttp(({ request }) => {
    const socket = request.socket
    const flood = (): void => {
      while (!socket.destroyed && socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(2_000))) {
        // Until the buffer is full.
      }
    }
    socket.on('drain', flood)
    flood()
  }, trusted)
  const result = await posterTo127({ ca: trusted.cert }).post(messageTo(receiver.url))
  expect(result).toMatchObject({
    kind: 'failed',
    message: 'Failed while waiting for the answer: the answer is too long.',
  })
  await receiver.isLeft()
})

test('a hundred TLS posts at once leave no connection', async () => {
  const receiver = await receiveTls(trusted)
  const poster = posterTo127({ ca: trusted.cert })
  const results = await Promise.all(Array.from({ length: 100 }, () => poster.post(messageTo(receiver.url))))
  expect(new Set(results.map(({ kind }) => kind))).toEqual(new Set(['answered']))
  await receiver.isLeft()
})
