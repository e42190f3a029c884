import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeJson } from '../../src/domain/json.ts'
import { capText } from '../../src/domain/run.ts'

describe('encodeJson', () => {
  test('writes what JSON can hold, and reads back the same', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false, stringUnit: 'binary' }), (value) => {
        const encoded = encodeJson(value, 1_000_000)
        expect(encoded.kind).toBe('ok')
        if (encoded.kind === 'ok') expect(JSON.parse(encoded.text)).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  test('writes undefined as null: a handler without a return has a result too', () => {
    expect(encodeJson(undefined, 10)).toEqual({ kind: 'ok', text: 'null' })
  })

  test.each([
    ['a function', () => 1, 'a function has no JSON form'],
    ['a symbol', Symbol('s'), 'a symbol has no JSON form'],
    ['a bigint inside', { n: 10n }, 'BigInt'],
    ['a toJSON that throws', { toJSON: () => JSON.parse('{') }, 'JSON'],
  ])('refuses %s and says why', (_, value, words) => {
    const encoded = encodeJson(value, 1000)
    expect(encoded.kind).toBe('unserialisable')
    if (encoded.kind === 'unserialisable') expect(encoded.message).toContain(words)
  })

  test('refuses a circle', () => {
    const circle: { self?: unknown } = {}
    circle.self = circle
    expect(encodeJson(circle, 1000).kind).toBe('unserialisable')
  })

  test('counts bytes of UTF-8 exactly, whatever the characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 50 }), fc.nat(200), (value, bytesMax) => {
        const bytes = Buffer.byteLength(JSON.stringify(value))
        const encoded = encodeJson(value, bytesMax)
        if (bytes <= bytesMax) expect(encoded.kind).toBe('ok')
        else expect(encoded).toEqual({ kind: 'too-large', bytes, bytesMax })
      }),
      {
        numRuns: 1000,
        examples: [
          ['ä'.repeat(50), 150],
          ['€'.repeat(50), 152],
          ['𝄞'.repeat(25), 102],
          ['\ud800', 8],
        ],
      },
    )
  })

  test.each([
    ['exactly at the limit', 'x'.repeat(98), 'ok'],
    ['one byte over', 'x'.repeat(99), 'too-large'],
    ['two-byte characters at the limit', 'ä'.repeat(49), 'ok'],
    ['two-byte characters over', 'ä'.repeat(50), 'too-large'],
    ['four-byte characters over', '𝄞'.repeat(25), 'too-large'],
  ])('has a sharp limit: %s', (_, value, kind) => {
    expect(encodeJson(value, 100).kind).toBe(kind)
  })
})

describe('capText', () => {
  test('leaves what fits as it is', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 20 }), (text) => {
        expect(capText(text, 20)).toBe(text)
      }),
    )
  })

  test('cuts what does not fit to at most `max` characters, says so, and keeps the beginning', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1 }), fc.integer({ min: 1, max: 30 }), (given, max) => {
        const text = given.replaceAll('\u0000', '\ufffd')
        const capped = capText(given, max)
        expect(capped.length).toBeLessThanOrEqual(max)
        if (text.length > max) {
          expect(capped.endsWith('…')).toBe(true)
          expect(text.startsWith(capped.slice(0, -1))).toBe(true)
          expect(capped.length).toBeGreaterThanOrEqual(max - 1)
        }
      }),
    )
  })

  test('shows U+0000, at which SQLite would end the text, as a character that can be kept', () => {
    expect(capText('a\u0000b', 10)).toBe('a\ufffdb')
    expect(capText('a\u0000bcd', 3)).toBe('a\ufffd…')
  })

  test('never leaves half of a surrogate pair', () => {
    expect(capText('ab𝄞cd', 4)).toBe('ab…')
    expect(capText('ab𝄞cd', 5)).toBe('ab𝄞…')
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 30 }), (text, max) => {
        expect(Buffer.from(capText(text, max)).toString()).toBe(capText(text, max))
      }),
    )
  })
})
