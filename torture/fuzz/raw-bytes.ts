import { connect } from 'node:net'
import { Chance } from '../chance.ts'
import { ANSWERED_WITHIN_MS } from './connection.ts'

const BODY = '{"type":"story","params":{}}'

/** Requests that are none, halves of some, several at once, and such that two servers would read in two ways. */
export function rawBytes(seed: number, key: string): Buffer {
  const chance = new Chance(seed)
  const head = (line: string, ...headers: string[]) =>
    [line, 'Host: localhost', `Authorization: Bearer ${key}`, ...headers, '', ''].join('\r\n')
  const post = (...headers: string[]) => head('POST /api/jobs HTTP/1.1', 'Content-Type: application/json', ...headers)
  const good = post(`Content-Length: ${BODY.length}`) + BODY
  const get = head('GET /api/jobs?limit=1 HTTP/1.1')
  const smuggled = (...headers: string[]) => `${post(...headers)}0\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n`
  const lengths = ['+6', '0x6', '6, 6', '6,7', '-1', '1e3', ' ', '99999999999999999999', '6\r\nContent-Length: 7']
  const chunks = [
    'zz\r\n',
    '5\r\n{}',
    'fffffffffffffffff\r\n',
    '0\r\n',
    '1;a=b\r\n{\r\n0\r\n\r\n',
    '-1\r\n\r\n',
    '2\r\n{}',
  ]
  const codings = ['identity', 'gzip, chunked', 'chunked, gzip', 'xchunked', 'chunked\t', '\u000bchunked']
  const names = ['X\u0000', 'X Y', '', 'X:', '(x)', 'é', 'x'.repeat(5_000)]
  const garbage = () => Buffer.from(Array.from({ length: chance.between(1, 300) }, () => chance.below(256)))
  const makers: readonly (() => string | Buffer)[] = [
    garbage,
    () => Buffer.concat([Buffer.from(good), garbage()]),
    () => good.slice(0, chance.below(good.length)),
    () => Array.from({ length: chance.between(1, 20) }, () => (chance.is(0.5) ? get : good)).join(''),
    () => smuggled('Content-Length: 6', 'Transfer-Encoding: chunked'),
    () => smuggled('Transfer-Encoding: chunked', 'Transfer-Encoding: identity'),
    () => smuggled(`Transfer-Encoding: ${chance.of(codings)}`),
    () => smuggled(`Content-Length: ${chance.of(lengths)}`),
    () => head('GET /health HTTP/1.1', `X-Long: ${'x'.repeat(chance.below(40_000))}`),
    () => head('GET /health HTTP/1.1', ...Array.from({ length: chance.below(3_000) }, (_, n) => `a${n}: b`)),
    () => head(`GET /${'a/'.repeat(chance.below(12_000))} HTTP/1.1`),
    () => head('GET /health HTTP/1.1', `${chance.of(names)}: x`),
    () =>
      head(
        `${chance.of(['GET', 'get', 'BREW', 'CONNECT', 'PRI', 'TRACE', ''])} ${chance.of(TARGETS)} ${chance.of(VERSIONS)}`,
      ),
    () => post('Transfer-Encoding: chunked') + chance.of(chunks),
    () => post(`Content-Length: ${BODY.length}`, `Expect: ${chance.of(['100-continue', '200-ok', ''])}`) + BODY,
    () => head('GET /health HTTP/1.1', 'Connection: Upgrade', `Upgrade: ${chance.of(['websocket', 'h2c', 'x'])}`),
    () => chance.of([good, get]).replaceAll('\r\n', chance.of(['\n', '\r', '\r\r\n', '\n\r', '\r\n '])),
    () => {
      const bytes = Buffer.from(good)
      for (let flips = 0; flips < 3; flips++) bytes[chance.below(bytes.length)] = chance.below(256)
      return bytes
    },
  ]
  return Buffer.from(chance.of(makers)() as string)
}

const TARGETS = ['/health', '*', 'http://127.0.0.1/health', '//x/health', '/%', '/health#x', '127.0.0.1:80', '/\u0000']
const VERSIONS = ['HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/9.9', 'HTP/1.1', '']

/**
 * Sends the bytes, in one piece or in two, says that nothing more comes, and waits until the other side closes. Answers with
 * the statuses of all answers.
 */
export function exchange(port: number, bytes: Buffer): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true })
    let text = ''
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk
    })
    socket.setTimeout(ANSWERED_WITHIN_MS, () => {
      socket.destroy()
      reject(new Error(`Neither answered nor closed within ${ANSWERED_WITHIN_MS} ms`))
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve([...text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status))))
    const half = bytes.length % 2 === 0 ? bytes.length : bytes.length >> 1
    socket.write(bytes.subarray(0, half))
    setImmediate(() => socket.end(bytes.subarray(half)))
  })
}
