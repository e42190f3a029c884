import { readdirSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Life, Liveness } from '../../store/nodes.ts'
import type { Driver, DriverHandle } from './driver.ts'
import { isBusy, translateError } from './errors.ts'
import { createPrivateFile } from './private-file.ts'

/**
 * A node lives as long as it holds an exclusive lock on a small SQLite file of its own, beside the database. The kernel
 * drops the lock with the process, whatever ends it, and nothing else does: not a blocked event loop, not a stopped
 * process, not a wrong clock. It is right across containers, because it needs no pid.
 *
 * Rules that make it sound. The file is never opened in any other way than through SQLite, because closing a plain
 * descriptor would drop the POSIX lock. It is removed only by someone who holds its lock. Whoever takes the lock checks
 * afterwards that the file is still there.
 */
export class SidecarLiveness implements Liveness {
  readonly #driver: Driver
  readonly #databasePath: string

  /** `databasePath` must be the real path: two names for one database must lead to the same sidecars. */
  constructor(driver: Driver, databasePath: string) {
    this.#driver = driver
    this.#databasePath = databasePath
  }

  async begin(nodeId: string): Promise<Life> {
    let lock = this.#told(() => this.#takeLock(nodeId))
    return {
      standing: () => 'sound',
      beat: async () =>
        this.#told(() => {
          if (isThere(this.#pathOf(nodeId))) return 'alive'
          // Somebody deleted the file by hand. Our lock guards nothing any more, and others may have taken us for dead.
          const lost = lock
          lock = this.#takeLock(nodeId)
          lost.close()
          return 'lost'
        }),
      end: async () => {
        rmSync(this.#pathOf(nodeId), { force: true })
        lock.close()
      },
    }
  }

  async isAlive(nodeId: string): Promise<boolean> {
    return this.#told(() => {
      if (!isThere(this.#pathOf(nodeId))) return false
      const lock = this.#tryLock(nodeId)
      lock?.close()
      return lock === null
    })
  }

  async lastProofs(): Promise<ReadonlyMap<string, number>> {
    return new Map()
  }

  async bury(nodeId: string): Promise<void> {
    this.#told(() => {
      if (isThere(this.#pathOf(nodeId))) this.#removeIfFree(nodeId)
    })
  }

  async sweep(known: ReadonlySet<string>): Promise<void> {
    const prefix = `${basename(this.#databasePath)}-node-`
    this.#told(() => {
      for (const name of readdirSync(dirname(this.#databasePath))) {
        if (!name.startsWith(prefix) || name.endsWith('-journal')) continue
        const nodeId = name.slice(prefix.length)
        if (!known.has(nodeId)) this.#removeIfFree(nodeId)
      }
    })
  }

  /** What the disk refuses is told as what is refused of the database: with a code, and what to do. */
  #told<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw translateError(error, this.#databasePath)
    }
  }

  #removeIfFree(nodeId: string): void {
    const lock = this.#tryLock(nodeId)
    if (lock === null) return
    rmSync(this.#pathOf(nodeId), { force: true })
    lock.close()
  }

  #takeLock(nodeId: string): DriverHandle {
    const path = this.#pathOf(nodeId)
    for (;;) {
      createPrivateFile(path)
      const lock = this.#tryLock(nodeId)
      // A sweeper may have held or removed the file in the moment before we locked it: then once more.
      if (lock !== null && isThere(path)) return lock
      lock?.close()
    }
  }

  /** The held lock, or null when somebody else holds it. */
  #tryLock(nodeId: string): DriverHandle | null {
    const handle = this.#driver.open(this.#pathOf(nodeId))
    try {
      handle.exec('pragma busy_timeout = 0')
      handle.exec('pragma journal_mode = memory')
      handle.exec('begin exclusive')
      return handle
    } catch (error) {
      handle.close()
      if (isBusy(error)) return null
      throw error
    }
  }

  #pathOf(nodeId: string): string {
    return join(dirname(this.#databasePath), `${basename(this.#databasePath)}-node-${nodeId}`)
  }
}

/** Throws when it cannot be known: taking a living node for dead would be worse than not knowing. */
function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}
