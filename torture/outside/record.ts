// What happened, written down outside of the system that is examined: by those who asked, by the bodies, by those who were
// told, and by whoever killed.
import { closeSync, fsyncSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as immediate } from 'node:timers/promises'

/** Somebody asked, and may never have heard an answer. Written before anything is sent. */
export interface Asked {
  readonly is: 'asked'
  readonly at: number
  readonly by: string
  /** The number of the act in the list of the one who asked. */
  readonly act: number
  /** For whom the requests wait, by the numbers of the requests: parents of which no id was heard are left out. */
  readonly parents?: Readonly<Record<string, readonly number[]>>
}

/** A request that was answered. */
export interface Ack {
  readonly is: 'ack'
  readonly n: number
  readonly jobId: string
  /** When it was asked for, and when it was answered. */
  readonly askedAt: number
  readonly answeredAt: number
}

/** An act of which somebody was told that it is not done, and why. */
export interface Refusal {
  readonly is: 'refused'
  readonly by: string
  readonly act: number
  readonly askedAt: number
  readonly answeredAt: number
  readonly code: string
}

export interface CancelAck {
  readonly is: 'cancelled'
  readonly n: number
  readonly kind: 'cancelled' | 'requested'
  readonly jobId: string
  readonly askedAt: number
  readonly answeredAt: number
}

export interface RetryAck {
  readonly is: 'retried'
  readonly n: number
  readonly kind: 'created' | 'made-due'
  readonly jobId: string
  readonly askedAt: number
  readonly answeredAt: number
}

/** What the caller of a direct execution heard. */
export interface DirectAnswer {
  readonly is: 'direct'
  readonly n: number
  readonly reservationId: string | null
  /** `returned`, `skipped`, `failed: <reason>`, or the code of the error. */
  readonly how: string
  readonly result: unknown
  readonly askedAt: number
  readonly answeredAt: number
}

/** A moment of a body. */
export interface Note {
  readonly is: 'body'
  readonly at: number
  /** The same moment in epoch milliseconds. */
  readonly wall: number
  readonly node: string
  readonly what: 'began' | 'ended'
  readonly type: string
  readonly n: number
  /** Of a direct execution both ids are that of its reservation. */
  readonly jobId: string
  readonly runId: string
  readonly attempt: number
  readonly how: string | null
}

/** A process that was killed. Until `at` it lived for certain. */
export interface Kill {
  readonly is: 'killed'
  readonly node: string
  readonly at: number
}

/** From when on a node may have been cut off from the database, or was stopped. */
export interface Fault {
  readonly is: 'fault'
  readonly node: string
  readonly at: number
  readonly what: string
}

/** A message that a receiver of webhooks got. */
export interface Received {
  readonly is: 'received'
  readonly at: number
  /** The header `webhook-id`. */
  readonly id: string
  readonly event: string
  readonly jobId: string
  /** A digest of its text. */
  readonly digest: string
  readonly answer: string
}

/** Something that a look at the database found ended, and a digest of all that was said of it. */
export interface Sighting {
  readonly is: 'seen'
  readonly at: number
  /** Such as `run 0198…`. */
  readonly what: string
  readonly digest: string
}

/** A schedule that was made, and until when it was not switched off. */
export interface ScheduleLife {
  readonly is: 'schedule'
  readonly scheduleId: string
  readonly everyMs: number
  /** The instants of its slots are multiples of `everyMs` from here, in epoch milliseconds; null: from its creation. */
  readonly anchorAt: number | null
  readonly overlap: 'allow' | 'skip'
  /** In epoch milliseconds. Before the first it did not exist, and until the second it was enabled. */
  readonly createdAfter: number
  readonly createdBefore: number
  readonly enabledUntil: number
  readonly disabledBefore: number
}

export type Line =
  | Asked
  | Ack
  | Refusal
  | CancelAck
  | RetryAck
  | DirectAnswer
  | Note
  | Kill
  | Fault
  | Received
  | Sighting
  | ScheduleLife

export interface Recorded {
  readonly asked: readonly Asked[]
  readonly acks: readonly Ack[]
  readonly refusals: readonly Refusal[]
  readonly cancels: readonly CancelAck[]
  readonly retries: readonly RetryAck[]
  readonly directs: readonly DirectAnswer[]
  /** In the order of their moments. */
  readonly notes: readonly Note[]
  readonly kills: readonly Kill[]
  readonly faults: readonly Fault[]
  readonly received: readonly Received[]
  readonly seen: readonly Sighting[]
  readonly schedules: readonly ScheduleLife[]
}

/** Milliseconds on a clock that all processes of the machine share. */
export function sharedNow(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** The name of the file to which `who` adds lines. Scripts of their own do it themselves, in the same way. */
const recordOf = (who: string): string => `${who}.record`

/** A file to which lines are only ever added. What comes at the same time shares one way to the disk. */
export class Recorder {
  readonly #descriptor: number
  #lines: string[] = []
  #flushing: Promise<void> | null = null

  constructor(folder: string, who: string) {
    this.#descriptor = openSync(join(folder, recordOf(who)), 'a')
  }

  /** Resolves when they would survive a loss of power. */
  async write(...lines: readonly Line[]): Promise<void> {
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

/** Everything that anybody wrote down in a folder, or what `who` did. */
export function readRecord(folder: string, who?: string): Recorded {
  const files = readdirSync(folder).filter((name) =>
    who === undefined ? name.endsWith(recordOf('')) : name === recordOf(who),
  )
  const lines = files.flatMap((name) => readLines(join(folder, name)))
  const those = <Kind extends Line['is']>(is: Kind) =>
    lines.filter((line): line is Extract<Line, { is: Kind }> => line.is === is)
  return {
    asked: those('asked'),
    acks: those('ack'),
    refusals: those('refused'),
    cancels: those('cancelled'),
    retries: those('retried'),
    directs: those('direct'),
    notes: those('body').sort((a, b) => a.at - b.at),
    kills: those('killed'),
    faults: those('fault'),
    received: those('received'),
    seen: those('seen'),
    schedules: those('schedule'),
  }
}

/** The last line may have been cut off by a kill: then what it says was not done yet. */
function readLines(file: string): Line[] {
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as Line)
}
