import { expect, test } from 'vitest'
import { patternOf } from '../../src/domain/failure-pattern.ts'

test.each([
  ['timeout after 5000 ms', 'timeout after 12 ms'],
  ['no user 0197c5d2-7c1e-7d6a-9d0c-3f6f8e0f9a41', 'no user 01975bb0-7c1e-7d6a-9d0c-3f6f8e0f9a42'],
  ['ECONNREFUSED 10.0.0.7:5432', 'ECONNREFUSED 127.0.0.1:80'],
  ['at 2026-11-16T08:00:00Z it rained', 'at 2025-01-01 it rained'],
  ['commit deadbeef01 is bad', 'commit 0123456789abcdef is bad'],
  ['first line 1\nand then this', 'first line 2\nor that'],
])('%j and %j are one failure', (a, b) => {
  expect(patternOf(a)).toEqual(patternOf(b))
})

test.each([
  ['no ink', 'no paper'],
  ['TypeError: x is not a function', 'RangeError: x is not a function'],
  ['feedback is bad', 'defaced is bad'],
])('%j and %j are two', (a, b) => {
  expect(patternOf(a)).not.toEqual(patternOf(b))
})

test('the kind of error is told where there is one', () => {
  expect(patternOf('TypeError: no').name).toBe('TypeError')
  expect(patternOf('Warning: the ink is low').name).toBeNull()
  expect(patternOf('no luck: at all').name).toBeNull()
})

test('a long line, however it is made, is cut in no time', () => {
  expect(patternOf('a1'.repeat(1_000_000)).pattern.length).toBeLessThanOrEqual(300)
})
