import { constants } from 'node:fs'
import { type FileHandle, open, realpath } from 'node:fs/promises'
import { dirname } from 'node:path'
import { readWhole, refuseUnknownKeys } from '../domain/options.ts'
import type { OperationContext } from './context.ts'
import { getRun } from './read-history.ts'

export interface OutputOptions {
  /** Bytes that the caller has already. @default 0 */
  readonly after?: number
  /** Bytes to read at most, 4 to 1,048,576. @default 65_536 */
  readonly limit?: number
}

/** A part of what a child process printed. */
export interface Output {
  readonly text: string
  /** Where to go on. */
  readonly next: number
  /** How much there is so far, in bytes. */
  readonly size: number
}

/** A character takes up to four bytes, so that less would never come to an end. */
export const OUTPUT_LIMIT_MIN = 4
export const OUTPUT_LIMIT_MAX = 1_048_576
const OUTPUT_LIMIT_DEFAULT = 65_536

/** What the child process of a Run printed, from a byte on. Nothing where there was none, or its file is not here. */
export async function readOutput(
  context: OperationContext,
  runId: string,
  options: OutputOptions = {},
): Promise<Output> {
  refuseUnknownKeys(options, ['after', 'limit'], '')
  const after = readWhole(options.after ?? 0, 0, Number.MAX_SAFE_INTEGER, 'after')
  const limit = readWhole(options.limit ?? OUTPUT_LIMIT_DEFAULT, OUTPUT_LIMIT_MIN, OUTPUT_LIMIT_MAX, 'limit')
  const { logPath } = await getRun(context, runId)
  const file = logPath === null ? null : await openLogFile(context, logPath)
  if (file === null) return { text: '', next: after, size: 0 }
  try {
    const { size } = await file.stat()
    const { buffer, bytesRead } = await file.read(Buffer.alloc(limit), 0, limit, after)
    const bytes = wholeCharacters(buffer.subarray(0, bytesRead))
    return { text: bytes.toString('utf8'), next: after + bytes.length, size }
  } finally {
    await file.close()
  }
}

/** Only a plain file of the store's own folder: a path in a database is data, and data may be wrong. */
async function openLogFile({ store: { logDirectory } }: OperationContext, path: string): Promise<FileHandle | null> {
  if (logDirectory === null) return null
  try {
    const folder = await realpath(logDirectory)
    if (dirname(await realpath(path)) !== folder) return null
    const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
    if ((await file.stat()).isFile()) return file
    await file.close()
    return null
  } catch (error) {
    if (isGone(error)) return null
    throw error
  }
}

/** Removed since, never made, or on another machine. */
function isGone(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR', 'ELOOP'].includes((error as NodeJS.ErrnoException).code ?? '')
}

/** Without the beginning of a character whose rest has not been read. What is no UTF-8 at all is left as it is. */
function wholeCharacters(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(3, bytes.length - 1); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if ((byte & 0b1100_0000) === 0b1000_0000) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return length > back ? bytes.subarray(0, bytes.length - back) : bytes
  }
  return bytes
}
