import { expect, test } from 'vitest'
import { parseExact, printExact, unmark } from '../../dashboard/src/api/exact-json.ts'

test.each([
  '{"id":12345678901234567890}',
  '{"price":1.10,"tiny":1e-7,"huge":1E400,"minus":-0.50}',
  '{"text":"12345678901234567890, \\"1.10\\" and 1e400","nested":[1,[2.0,{"a":-9007199254740993}]]}',
  '[]',
  '3.140',
])('%s keeps every digit on its way through the page', (text) => {
  expect(printExact(parseExact(text), 0)).toBe(text)
  expect(unmark(JSON.stringify({ params: parseExact(text) }))).toBe(`{"params":${text}}`)
})

test('what the page shows is numbers where they are exact', () => {
  expect(parseExact('{"a":1,"b":2.5}')).toEqual({ a: 1, b: 2.5 })
})
