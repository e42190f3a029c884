// What happened, written down outside of the system that is examined: by those who asked, by the bodies, and by whoever killed.
import { closeSync, fsyncSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as immediate } from 'node:timers/promises'

/** A request that was answered. */
export interface Ack {
  readonly n: number
  readonly jobId: string
  /** When it was asked for, and when it was answered. */
  readonly askedAt: number
  readonly answeredAt: number
}

/** A moment of a body. */
export interface Note {
  readonly at: number
  readonly node: string
  readonly what: 'began' | 'ended'
  readonly type: string
  readonly n: number
  readonly jobId: string
  readonly runId: string
  readonly attempt: number
  readonly how: string | null
}

/** A node that was killed. At `at` it was dead for certain. */
export interface Kill {
  readonly node: string
  readonly at: number
}

export interface Recorded {
  readonly acks: readonly Ack[]
  /** In the order of their moments. */
  readonly notes: readonly Note[]
  readonly kills: readonly Kill[]
}

/** Milliseconds on a clock that all processes of the machine share. */
export function sharedNow(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** A file to which lines are only ever added. What comes at the same time shares one way to the disk. */
class SafeLog {
  readonly #descriptor: number
  #lines: string[] = []
  #flushing: Promise<void> | null = null

  constructor(file: string) {
    this.#descriptor = openSync(file, 'a')
  }

  /** Resolves when they would survive a loss of power. */
  async write(lines: readonly object[]): Promise<void> {
    this.#lines.push(...lines.map((line) => `${JSON.stringify(line)}\n`))
    this.#flushing ??= immediate().then(() => this.#flush())
    await this.#flushing
  }

  #flush(): void {
    this.#flushing = null
    writeSync(this.#descriptor, this.#lines.splice(0).join(''))
    fsyncSync(this.#descriptor)
  }

  close(): void {
    closeSync(this.#descriptor)
  }
}

/** The record of one run, in a folder. Nodes add their `.bodies` to it themselves. */
export class Recorder {
  readonly #folder: string
  readonly #acks: SafeLog
  readonly #kills: SafeLog

  constructor(folder: string) {
    this.#folder = folder
    this.#acks = new SafeLog(join(folder, 'acks'))
    this.#kills = new SafeLog(join(folder, 'kills'))
  }

  acknowledged(acks: readonly Ack[]): Promise<void> {
    return this.#acks.write(acks)
  }

  killed(node: string): Promise<void> {
    return this.#kills.write([{ node, at: sharedNow() }])
  }

  /** Everything that anybody wrote down. */
  read(): Recorded {
    const bodies = readdirSync(this.#folder).filter((name) => name.endsWith('.bodies'))
    const notes = bodies.flatMap((name) => this.#lines<Note>(name)).sort((a, b) => a.at - b.at)
    return { acks: this.#lines('acks'), notes, kills: this.#lines('kills') }
  }

  /** The last line may have been cut off by a kill: then what it says was not done yet. */
  #lines<Line>(name: string): Line[] {
    const lines = readFileSync(join(this.#folder, name), 'utf8').split('\n').slice(0, -1)
    return lines.map((line) => JSON.parse(line) as Line)
  }

  close(): void {
    this.#acks.close()
    this.#kills.close()
  }
}
