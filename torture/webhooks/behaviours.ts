import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'

/**
 * What a receiver does to whoever posts to it. `good`: it answers as it should, and must be told of everything. `fails`: each
 * attempt has failed, and more follow. `hangs`: so it has, but only when the sender's patience is over. `either`: it is the
 * receiver's own fault what it is taken for.
 */
export interface Behaviour {
  readonly name: string
  readonly kind: 'good' | 'fails' | 'hangs' | 'either'
  /** Over TLS, with this certificate. @default none: plain text */
  readonly certificate?: 'right' | 'expired' | 'of-another-host' | 'of-nobody'
  /** The sender says TLS, and this side does not speak it. */
  readonly isPlainOnTlsPort?: true
  /** It is reached by a name, not by its address. */
  readonly hasName?: true
  /** Who does not read does not see either that the other side has gone. */
  readonly isDeaf?: true
  /** An answer says so: no second attempt within the run. */
  readonly asksToWait?: true
  readonly onConnection?: (socket: Socket) => void
  readonly onRequest?: (socket: Socket) => void
}

const OK = 'HTTP/1.1 200 OK\r\n'
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`
const DONE = `${OK}Content-Length: 2\r\n\r\nok`

const end = (text: string | Buffer) => (socket: Socket) => void socket.end(text)

const status = (line: string, ...headers: string[]) =>
  end([`HTTP/1.1 ${line}`, ...headers, 'Content-Length: 0', '', ''].join('\r\n'))

/** Writes as fast as the other side reads, until it is gone. */
const flood = (beginning: string, text: string) => (socket: Socket) => {
  const chunk = text.repeat(Math.ceil(65_536 / text.length))
  const write = (): void => {
    while (!socket.destroyed && socket.write(chunk)) {
      // Until the buffer is full.
    }
  }
  socket.write(beginning)
  socket.on('drain', write)
  write()
}

/** A little now and then: never silent, never done. */
const drip = (beginning: string, text: string) => (socket: Socket) => {
  socket.write(beginning)
  const timer = setInterval(() => socket.write(text), 50)
  socket.on('close', () => clearInterval(timer))
}

const nonsense = Buffer.from(Array.from({ length: 4_096 }, (_, index) => (index * 131) % 256))
const bomb = gzipSync(Buffer.alloc(10_000_000))
const bombHead = `${OK}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`

export const GOOD: readonly Behaviour[] = [
  { name: 'answers at once', kind: 'good', onRequest: end(DONE) },
  { name: 'answers 204', kind: 'good', onRequest: end('HTTP/1.1 204 No Content\r\n\r\n') },
  { name: 'answers after a moment', kind: 'good', onRequest: (socket) => void setTimeout(() => socket.end(DONE), 200) },
  { name: 'answers over TLS', kind: 'good', certificate: 'right', onRequest: end(DONE) },
  { name: 'answers over TLS, by a name', kind: 'good', certificate: 'right', hasName: true, onRequest: end(DONE) },
]

/** The forbidden address is told as it is here: `{forbidden}`. */
export const HOSTILE: readonly Behaviour[] = [
  { name: 'never answers', kind: 'hangs' },
  { name: 'never reads', kind: 'hangs', isDeaf: true, onConnection: (socket) => void socket.pause() },
  { name: 'drips its status line', kind: 'hangs', onRequest: drip('HTTP/1.1 200 ', 'O') },
  { name: 'drips its headers', kind: 'hangs', onRequest: drip(OK, 'x') },
  { name: 'drips its body', kind: 'hangs', onRequest: drip(CHUNKED, '1\r\nx\r\n') },
  {
    name: 'stops in the middle of its body',
    kind: 'hangs',
    onRequest: (s) => void s.write(`${OK}Content-Length: 9\r\n\r\nh`),
  },
  { name: 'drips "continue"', kind: 'hangs', onRequest: drip('', 'HTTP/1.1 100 Continue\r\n\r\n') },
  { name: 'floods "continue"', kind: 'fails', onRequest: flood('', 'HTTP/1.1 100 Continue\r\n\r\n') },
  { name: 'floods early hints', kind: 'fails', onRequest: flood('', 'HTTP/1.1 103 Early Hints\r\n\r\n') },
  { name: 'sends an endless header', kind: 'fails', onRequest: flood(`${OK}x: `, 'x') },
  { name: 'sends endless headers', kind: 'fails', onRequest: flood(OK, 'x-again: and again\r\n') },
  { name: 'sends an endless body', kind: 'fails', onRequest: flood(`${OK}\r\n`, 'x') },
  { name: 'sends an endless chunk', kind: 'fails', onRequest: flood(`${CHUNKED}ffffffff\r\n`, 'x') },
  { name: 'sends endless trailers', kind: 'fails', onRequest: flood(`${CHUNKED}0\r\n`, 'x-again: and again\r\n') },
  { name: 'closes at once', kind: 'fails', onConnection: (socket) => void socket.destroy() },
  { name: 'resets at once', kind: 'fails', onConnection: (socket) => void socket.resetAndDestroy() },
  { name: 'closes after the request', kind: 'fails', onRequest: end('') },
  { name: 'resets after the request', kind: 'fails', onRequest: (socket) => void socket.resetAndDestroy() },
  {
    name: 'resets in the middle of its body',
    kind: 'fails',
    onRequest: (socket) => void socket.write(`${OK}Content-Length: 9\r\n\r\nhalf`, () => socket.resetAndDestroy()),
  },
  { name: 'closes in the middle of a chunk', kind: 'fails', onRequest: end(`${CHUNKED}9\r\nhalf`) },
  { name: 'speaks SSH', kind: 'fails', onConnection: (socket) => void socket.write('SSH-2.0-OpenSSH_9.2\r\n') },
  { name: 'speaks nonsense', kind: 'fails', onRequest: end(nonsense) },
  { name: 'has no status', kind: 'fails', onRequest: end('HTTP/1.1 OK\r\n\r\n') },
  { name: 'has status 99999', kind: 'fails', onRequest: end('HTTP/1.1 99999 Much\r\n\r\n') },
  { name: 'speaks HTTP/7.3', kind: 'fails', onRequest: end('HTTP/7.3 200 OK\r\n\r\n') },
  {
    name: 'switches protocols',
    kind: 'fails',
    onRequest: status('101 Switching Protocols', 'Upgrade: x', 'Connection: upgrade'),
  },
  { name: 'gives two lengths', kind: 'fails', onRequest: end(`${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx`) },
  { name: 'answers 500', kind: 'fails', onRequest: status('500 Internal Server Error') },
  { name: 'answers 404', kind: 'fails', onRequest: status('404 Not Found') },
  { name: 'redirects to a forbidden address', kind: 'fails', onRequest: status('302 Found', 'Location: {forbidden}') },
  { name: 'redirects a post', kind: 'fails', onRequest: status('307 Temporary Redirect', 'Location: {forbidden}') },
  {
    name: 'refreshes',
    kind: 'either',
    onRequest: status('200 OK', 'Refresh: 0; url={forbidden}', 'Link: <{forbidden}>; rel=preload'),
  },
  {
    name: 'asks for years',
    kind: 'fails',
    asksToWait: true,
    onRequest: status('429 Too Many', 'Retry-After: 999999999999'),
  },
  {
    name: 'asks for a date far away',
    kind: 'fails',
    asksToWait: true,
    onRequest: status('503 No', 'Retry-After: Fri, 31 Dec 9999 23:59:59 GMT'),
  },
  { name: 'asks for nonsense', kind: 'fails', onRequest: status('429 Too Many', 'Retry-After: -1e99') },
  { name: 'answers before it was asked', kind: 'either', onConnection: end(DONE) },
  { name: 'answers twice', kind: 'either', onRequest: end(DONE + DONE) },
  { name: 'sends a bomb', kind: 'either', onRequest: end(Buffer.concat([Buffer.from(bombHead), bomb])) },
  { name: 'has a certificate of nobody', kind: 'fails', certificate: 'of-nobody', onRequest: end(DONE) },
  { name: 'has an expired certificate', kind: 'fails', certificate: 'expired', onRequest: end(DONE) },
  { name: 'has the certificate of another host', kind: 'fails', certificate: 'of-another-host', onRequest: end(DONE) },
  { name: 'speaks plainly where TLS is expected', kind: 'fails', isPlainOnTlsPort: true, onConnection: end(DONE) },
  { name: 'never begins TLS', kind: 'hangs', isPlainOnTlsPort: true },
]
