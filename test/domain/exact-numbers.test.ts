import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findChangedNumber } from '../../src/domain/exact-numbers.ts'

describe('numbers that JavaScript would change', () => {
  test.each([
    ['12345678901234567890', '12345678901234567000'],
    ['-9007199254740993', '-9007199254740992'],
    // Exactly two to the 64th power, but it would be written with other digits.
    ['18446744073709551616', '18446744073709552000'],
    ['9007199254740993.0', '9007199254740992'],
    ['900719925474099.3e1', '9007199254740992'],
    ['9007199254740993E0', '9007199254740992'],
    ['12345678901234567.5', '12345678901234568'],
    ['1e400', 'Infinity'],
    ['-1E+400', '-Infinity'],
    ['1.5e0999', 'Infinity'],
    ['9'.repeat(400), 'Infinity'],
    [`1${'0'.repeat(22)}1`, '1.0000000000000001e+23'],
  ])('%s is found, and what it would become', (literal, becomes) => {
    expect(findChangedNumber(literal)).toEqual({ path: [], literal, becomes })
  })

  test.each([
    '9007199254740991',
    '-9007199254740992',
    '9007199254740992.0',
    '1e21',
    '1E+21',
    '1000000000000000000000',
    '1e23',
    `1${'0'.repeat(23)}`,
    '1.7976931348623157e308',
    '0.1',
    '0.10000000000000001',
    '3.14159265358979323846',
    '5e-324',
    '1e-400',
    '0e999',
    '-0',
    '"12345678901234567890 \\" 1e400"',
    '{"12345678901234567890":1}',
  ])('%s is none of them', (text) => {
    expect(findChangedNumber(text)).toBeNull()
  })

  test.each([
    ['{"a":12345678901234567890}', ['a']],
    ['{"x":"y","a": 12345678901234567890 }', ['a']],
    ['{"a":{"b":[1,"x",[],{"c":"d"},{"e":[12345678901234567890]}]}}', ['a', 'b', '4', 'e', '0']],
    ['[{"a":1},{"a":[1,2]},12345678901234567890]', ['2']],
    ['{"\\u0061\\"b":12345678901234567890}', ['a"b']],
    ['{"a":1}\n{"b":2,"c":12345678901234567890}', ['c']],
  ])('%s says where', (text, path) => {
    expect(findChangedNumber(text)?.path).toEqual(path)
  })

  test('whatever JavaScript writes is none of them', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => findChangedNumber(JSON.stringify(value)) === null))
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (n) => findChangedNumber(`${n}`) === null),
    )
  })

  test('a whole number is one of them exactly if it would be written otherwise', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }), (n) => {
        const isKept =
          BigInt(JSON.parse(`${n}`)) === n &&
          BigInt(Number(`${n}`).toLocaleString('fullwide', { useGrouping: false })) === n
        expect(findChangedNumber(`{"n":${n}}`) === null).toBe(isKept)
      }),
    )
  })

  test('a text of a million quotes, backslashes or zeros takes no time', () => {
    expect(findChangedNumber(`["${'\\"'.repeat(1_000_000)}",1e400]`)?.path).toEqual(['1'])
    expect(findChangedNumber(`[0.${'0'.repeat(1_000_000)}1,1${'0'.repeat(300)}]`)).toBeNull()
    expect(findChangedNumber(`[1${'0'.repeat(1_000_000)}1]`)?.becomes).toBe('Infinity')
  })
})
