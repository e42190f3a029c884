import type { Colors } from './colors.ts'

/** What the word says, good or bad, in colour. The text may be padded or cut already. */
export function paintStatus(colors: Colors, text: string, status: string): string {
  switch (status) {
    case 'COMPLETED':
    case 'DELIVERED':
      return colors.green(text)
    case 'FAILED':
    case 'PARTIAL':
    case 'EXPIRED':
      return colors.red(text)
    case 'RUNNING':
      return colors.cyan(text)
    case 'CANCELLED':
    case 'SKIPPED':
      return colors.yellow(text)
    default:
      return text
  }
}
