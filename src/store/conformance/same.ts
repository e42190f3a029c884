import assert from 'node:assert/strict'

/**
 * Deep equality of data. A store may answer with objects of its own making (a row without a prototype, an instance of a
 * class), as long as they hold what the contract says.
 */
export function assertSame(actual: unknown, expected: unknown, sentence?: string): void {
  assert.deepEqual(structuredClone(actual), structuredClone(expected), sentence)
}
