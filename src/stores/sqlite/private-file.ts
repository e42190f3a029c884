import { closeSync, openSync } from 'node:fs'

/**
 * Makes an empty file that only its owner can read, unless there is one. SQLite would make it readable for all. An
 * existing file is not opened: closing it would drop the locks that this process holds on it.
 */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
