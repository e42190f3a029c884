import { describe, expect, test } from 'vitest'
import { countInWords, durationInWords, instantInWords, listInWords, quote } from '../../src/domain/words.ts'

describe('in words', () => {
  test.each([
    [-5, '0 ms'],
    [0, '0 ms'],
    [999, '999 ms'],
    [1_000, '1 s'],
    [59_999, '59 s'],
    [60_000, '1 min'],
    [185_000, '3 min 5 s'],
    [3_600_000, '1 h'],
    [7_440_000, '2 h 4 min'],
    [86_400_000, '1 d'],
    [273_600_000, '3 d 4 h'],
    [31_536_000_000, '365 d'],
  ])('%d milliseconds are %s', (ms, words) => expect(durationInWords(ms)).toBe(words))

  test('an instant is ISO 8601 in UTC', () => expect(instantInWords(0)).toBe('1970-01-01T00:00:00.000Z'))

  test('one is not many, and too many are not counted', () => {
    expect([0, 1, 2, 999, 1_000].map((count) => countInWords(count, 'job', 1_000))).toEqual([
      '0 jobs',
      '1 job',
      '2 jobs',
      '999 jobs',
      '1000+ jobs',
    ])
  })

  test("somebody's text stays on one line, short, and without control characters", () => {
    expect(quote(' a\r\n\tb\u001b[31m\u0000\u2028c ')).toBe('a b [31m c')
    expect(quote('x'.repeat(500))).toHaveLength(200)
  })

  test('a list says how many it leaves out', () => {
    expect(listInWords(['a'], 1)).toBe('a')
    expect(listInWords(['a', 'b'], 2)).toBe('a; b')
    expect(listInWords(['a', 'b'], 5)).toBe('a; b; and 3 more')
  })
})
