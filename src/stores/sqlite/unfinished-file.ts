import { closeSync, openSync, readSync } from 'node:fs'

/** How every journal of SQLite begins that is to be played back. */
const MAGIC = Buffer.from('d9d505f920a163d7', 'hex')
/** Behind the magic, the number of records and a nonce: how many pages the database had before. */
const PAGES_OFFSET = 16
const HEAD_BYTES = 20

/**
 * Whether the power failed while the very first page was written. Then the journal beside the file says that the file was
 * empty before, and SQLite makes it so again when it is opened; what stands in it until then is nobody's, and may be half a
 * page.
 */
export function isUnfinishedFile(path: string): boolean {
  const head = readHead(`${path}-journal`)
  return head !== null && head.subarray(0, MAGIC.length).equals(MAGIC) && head.readUInt32BE(PAGES_OFFSET) === 0
}

/** Null: there is none, or it is too short to say anything. */
function readHead(journal: string): Buffer | null {
  let file: number
  try {
    file = openSync(journal, 'r')
  } catch {
    return null
  }
  try {
    const head = Buffer.alloc(HEAD_BYTES)
    return readSync(file, head, 0, HEAD_BYTES, 0) === HEAD_BYTES ? head : null
  } finally {
    closeSync(file)
  }
}
