import type { Connection } from './connection.ts'

/** How often the database is asked whether somebody else changed it. It costs a few microseconds. */
const WATCH_EVERY_MS = 25

const SELECT_DATA_VERSION = 'pragma data_version'

/** Notices commits of other connections and processes: `data_version` changes with each of them, never with our own. */
export class ChangeWatcher {
  readonly #connection: Connection
  readonly #changed: () => void
  #timer: NodeJS.Timeout | undefined
  #version: number | undefined

  constructor(connection: Connection, changed: () => void) {
    this.#connection = connection
    this.#changed = changed
  }

  start(): void {
    if (this.#timer !== undefined) return
    this.#version = this.#readVersion()
    this.#timer = setInterval(() => this.#look(), WATCH_EVERY_MS)
    // Watching alone is no reason for a process to stay.
    this.#timer.unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #look(): void {
    const version = this.#readVersion()
    if (version === undefined || version === this.#version) return
    this.#version = version
    this.#changed()
  }

  #readVersion(): number | undefined {
    try {
      return this.#connection.get<{ data_version: number }>(SELECT_DATA_VERSION)?.data_version
    } catch {
      // Busy for a moment, or worse; whoever reads or writes next is told what it is.
      return undefined
    }
  }
}
