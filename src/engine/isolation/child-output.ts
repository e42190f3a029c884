import { constants, createWriteStream, openSync, type WriteStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { systemClock } from '../../platform/clock.ts'

const TAIL_BYTES_MAX = 8 * 1024
const TAIL_LINES_MAX = 20
/** What the file of one Run may hold of its child's output, so that one chatty child cannot fill the disk. */
export const OUTPUT_FILE_BYTES_MAX = 64 * 1024 * 1024

const DRAIN_MAX_MS = 1_000
const APPEND_ONLY = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0)

/** What a child prints: appended to a file, when there is one, and its end remembered. */
export class ChildOutput {
  readonly #file: WriteStream | null
  readonly #warn: (text: string) => void
  readonly #streams: Readable[] = []
  #tail: Buffer = Buffer.alloc(0)
  #bytesLeft = OUTPUT_FILE_BYTES_MAX

  /** A file that cannot be written is a warning, never the end of the body. */
  constructor(logPath: string | null, warn: (text: string) => void) {
    this.#warn = warn
    this.#file = logPath === null ? null : this.#open(logPath)
  }

  read(stream: Readable): void {
    this.#streams.push(stream)
    stream.on('data', (chunk: Buffer) => this.#take(chunk))
    // Its end is all that matters; a broken pipe is one.
    stream.on('error', () => {})
  }

  /** The last lines that were printed. */
  tail(): string {
    // A cut may leave the last bytes of a character at the front, and a child can print any byte.
    const text = this.#tail.toString('utf8').replace(/^\ufffd+/, '')
    return text.replaceAll('\0', '\ufffd').trimEnd().split('\n').slice(-TAIL_LINES_MAX).join('\n')
  }

  /** After the child's exit: resolves when the file holds all that it printed. */
  async close(): Promise<void> {
    await endedWithin(this.#streams, DRAIN_MAX_MS)
    for (const stream of this.#streams) stream.destroy()
    if (this.#file === null || this.#file.destroyed) return
    this.#file.end()
    await finished(this.#file).catch(() => {})
  }

  #open(path: string): WriteStream | null {
    try {
      // The streams could open it by themselves, but not without following a link that someone put there.
      const file = createWriteStream(path, { fd: openSync(path, APPEND_ONLY, 0o600) })
      file.on('error', (error) => {
        this.#bytesLeft = 0
        this.#warnAbout(path, error)
        this.#flow()
      })
      return file.on('drain', () => this.#flow())
    } catch (error) {
      this.#warnAbout(path, error)
      return null
    }
  }

  #warnAbout(path: string, error: unknown): void {
    this.#warn(`The output cannot be kept in ${path}: ${error instanceof Error ? error.message : String(error)}`)
  }

  #take(chunk: Buffer): void {
    this.#tail = Buffer.concat([this.#tail, chunk.subarray(-TAIL_BYTES_MAX)]).subarray(-TAIL_BYTES_MAX)
    if (this.#file === null || this.#bytesLeft === 0) return
    const kept = chunk.subarray(0, this.#bytesLeft)
    this.#bytesLeft -= kept.length
    if (this.#bytesLeft === 0) this.#warn(`Output beyond ${OUTPUT_FILE_BYTES_MAX} bytes is not kept.`)
    // While the disk is slow the child waits, instead of our memory filling up.
    if (!this.#file.write(kept)) for (const stream of this.#streams) stream.pause()
  }

  #flow(): void {
    for (const stream of this.#streams) stream.resume()
  }
}

/** A process that left the child's group may hold its output open for ever, so this does not wait for ever. */
function endedWithin(streams: readonly Readable[], maxMs: number): Promise<void> {
  return new Promise((resolve) => {
    // One more turn: if our own loop was blocked, the output is there and has just not been read yet.
    const timer = systemClock.after(maxMs, () => setImmediate(resolve))
    const ends = streams.map((stream) => finished(stream, { writable: false }))
    void Promise.allSettled(ends).then(() => {
      timer.cancel()
      resolve()
    })
  })
}
