/**
 * Whether each of these numbers follows the one before it. Rows of such numbers lie beside each other, and one condition on the
 * range finds them all, where a list has to be looked up one by one.
 */
export function isUnbroken(numbers: readonly number[]): boolean {
  const first = numbers[0] ?? 0
  return numbers.every((number, index) => number === first + index)
}
