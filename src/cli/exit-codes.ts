/** What the process says when it ends. Documented in docs/cli.md; scripts rely on it. */
export const EXIT = {
  done: 0,
  failed: 1,
  /** A wrong command, option or value. */
  usage: 2,
  notFound: 4,
  /** It is there, but not in a state in which that can be done. */
  conflict: 5,
} as const

/** The exit code for what the API answered. */
export function exitCodeOfStatus(status: number): number {
  switch (status) {
    case 400:
    case 413:
    case 422:
      return EXIT.usage
    case 404:
      return EXIT.notFound
    case 409:
    case 412:
      return EXIT.conflict
    default:
      return EXIT.failed
  }
}
