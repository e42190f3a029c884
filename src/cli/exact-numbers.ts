import { findChangedNumber } from '../domain/exact-numbers.ts'
import { capText } from '../domain/run.ts'
import { usageError } from './cli-error.ts'

/** Of a number with thousands of digits, the first say which it is. */
const SHOWN_MAX = 60

/** The text must be valid JSON, or several pieces of it. The API has the same rule. */
export function refuseChangedNumbers(text: string, option: string): void {
  const changed = findChangedNumber(text)
  if (changed === null) return
  const literal = capText(changed.literal, SHOWN_MAX)
  throw usageError(
    `The number ${literal} of ${option} is too large to be kept exactly. Give it as text: "${literal}". ` +
      `It would become ${changed.becomes}.`,
  )
}
