import { chmodSync, closeSync, openSync, statSync } from 'node:fs'

const PRIVATE_MODE = 0o600

/**
 * Makes an empty file that only its owner can read, unless there is one. SQLite would make it readable for all. An
 * existing file is not opened: closing it would drop the locks that this process holds on it.
 */
export function createPrivateFile(path: string): 'created' | 'exists' {
  try {
    closeSync(openSync(path, 'wx', PRIVATE_MODE))
    return 'created'
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return 'exists'
  }
}

/** An empty file holds nothing that somebody may want others to read; what Pawl writes into it is its owner's alone. */
export function makeEmptyFilePrivate(path: string): void {
  const { size, mode, uid } = statSync(path)
  const isOwn = process.getuid === undefined || process.getuid() === uid
  if (size === 0 && isOwn && (mode & 0o777) !== PRIVATE_MODE) chmodSync(path, PRIVATE_MODE)
}
