import { expect, test } from 'vitest'
import { readExcerpt, retryAfterMs } from '../../src/platform/webhook-answer.ts'
import { messageTo, posterTo127, receiveHttp } from './support/receiver.ts'

const NOW = Date.parse('2026-03-01T12:00:00Z')
const DAY_MS = 86_400_000

test.each<[header: string, ms: number]>([
  ['0', 0],
  ['120', 120_000],
  ['0005', 5_000],
  ['86401', DAY_MS],
  ['9'.repeat(400), DAY_MS],
  ['Sun, 01 Mar 2026 12:00:30 GMT', 30_000],
  ['Sun, 01 Mar 2026 11:59:00 GMT', 0],
  ['Fri, 31 Dec 9999 23:59:59 GMT', DAY_MS],
])('Retry-After %s means %i ms', (header, ms) => {
  expect(retryAfterMs(header, NOW)).toBe(ms)
})

test.each([
  '',
  '-1',
  '1.5',
  '1e3',
  '0x10',
  '+5',
  'soon',
  'NaN',
  'Infinity',
  '2026-03-01T12:00:30Z',
  'Sun, 01 Mar 2026 12:00:30',
  'Sun, 99 Foo 2026 99:99:99 GMT',
  '1772366430000 ms',
])('Retry-After %j means nothing', (header) => {
  expect(retryAfterMs(header, NOW)).toBeNull()
})

test('two Retry-After headers, or none, mean nothing', () => {
  expect(retryAfterMs(['5', '10'], NOW)).toBeNull()
  expect(retryAfterMs(undefined, NOW)).toBeNull()
})

test('Retry-After reaches the result of a real post', async () => {
  const receiver = await receiveHttp(({ response }) => response.writeHead(429, { 'retry-after': '7' }).end())
  expect(await posterTo127().post(messageTo(receiver.url))).toMatchObject({ statusCode: 429, retryAfterMs: 7_000 })
})

test.each<[what: string, body: string | Buffer, excerpt: string]>([
  ['terminal escapes', '\u001b[31mred\u001b[0m\u001b]0;title\u0007', '\uFFFD[31mred\uFFFD[0m\uFFFD]0;title\uFFFD'],
  ['C1 escapes', 'a\u009b31mb', 'a\uFFFD31mb'],
  ['line breaks and tabs', 'a\r\nb\tc', 'a  b c'],
  ['zero bytes, backspace and delete', 'a\0b\bc\u007f', 'a\uFFFDb\uFFFDc\uFFFD'],
  ['changes of the reading direction', 'abc\u202Efed\u2066x\u2028', 'abc\uFFFDfed\uFFFDx\uFFFD'],
  ['broken UTF-8', Buffer.from([0x61, 0xff, 0xc3, 0x28, 0xed, 0xa0, 0x80]), 'a\uFFFD\uFFFD(\uFFFD\uFFFD\uFFFD'],
  ['a byte order mark', '\uFEFFok', 'ok'],
  ['text beyond ASCII', 'Käse 🧀 日本', 'Käse 🧀 日本'],
])('an excerpt with %s is harmless', async (_what, body, excerpt) => {
  const receiver = await receiveHttp(({ response }) => response.end(body))
  expect(await posterTo127().post(messageTo(receiver.url))).toMatchObject({ excerpt })
})

test('an excerpt has at most 1,024 characters and does not end in half of one', async () => {
  const excerptOf = (text: string) => readExcerpt(inPieces(Buffer.from(text)))
  expect(await excerptOf('x'.repeat(5_000))).toBe('x'.repeat(1_024))
  expect(await excerptOf('日'.repeat(5_000))).toBe('日'.repeat(1_024))
  expect(await excerptOf(`x${'🧀'.repeat(5_000)}`)).toBe(`x${'🧀'.repeat(511)}`)
})

test('a character that arrives in two pieces is put together', async () => {
  expect(await readExcerpt(inPieces(Buffer.from('🧀'.repeat(10)), 3))).toBe('🧀'.repeat(10))
})

async function* inPieces(bytes: Buffer, size = 1_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
