// What happened, as seen from outside of the system: by those who asked, by the bodies, and by who receives messages.
import type { SimulatedProcess } from './simulated-process.ts'
import type { SimulatedTime } from './time.ts'
import type { Trace } from './trace.ts'

/** What a body is told to do, as the params of its Job. `n` is the number of the request. */
export interface Order {
  readonly n: number
  readonly does: 'completes' | 'agrees' | 'fails' | 'falters' | 'refuses' | 'skips' | 'spawns' | 'overruns'
  /** How long it takes. */
  readonly ms: number
  /** Does not listen to its signal. */
  readonly isDeaf: boolean
}

/** Somebody asked for a Job, or a direct execution. */
export interface Asked {
  readonly n: number
  readonly type: string
  readonly kind: 'job' | 'direct' | 'follow-up' | 'slot'
  readonly order: Order
  readonly askedAt: number
  readonly runAt: number
  readonly idempotencyKey: string | null
  readonly businessKey: string | null
  /** The ids of the Jobs it waits for. */
  readonly parents: readonly string[]
  /** How often it was asked for, and how often it certainly was not carried out. With a key, it may be asked for again. */
  times: number
  refusals: number
  /** What came of it: an id, a refusal, or no answer (yet). */
  answer:
    | { readonly kind: 'accepted'; readonly jobId: string }
    | { readonly kind: 'refused'; readonly code: string }
    | null
}

/** With these nobody knows whether it was carried out. */
const UNSURE = ['database_unavailable', 'storage_full']

/** One body, from its first moment to its last. Times are those that really passed. */
export interface Body {
  readonly n: number
  readonly type: string
  readonly jobId: string
  readonly runId: string
  readonly attempt: number
  readonly process: SimulatedProcess
  readonly beganAt: number
  readonly beganWall: number
  readonly params: string
  endedAt: number | null
  how: 'returned' | 'threw' | 'skipped' | 'aborted' | null
  /** Why its signal fired, if it did. */
  abortedFor: string | null
}

export interface Post {
  readonly at: number
  readonly url: string
  readonly id: string
  readonly body: string
  readonly wasTaken: boolean
}

/** An answered cancel: from then on no body of this Job may begin. */
export interface Cancelled {
  readonly jobId: string
  readonly at: number
}

export class Witness {
  readonly asked = new Map<number, Asked>()
  readonly bodies: Body[] = []
  readonly posts: Post[] = []
  readonly cancelled: Cancelled[] = []
  /** Jobs that executed when their cancel was answered: nothing may follow them. */
  readonly lastOnes = new Set<string>()
  /** Jobs that somebody wanted to be aborted, whether he was answered or not. */
  readonly abortsWanted = new Set<string>()
  /** Schedules that somebody wanted to change. */
  readonly schedulesTouched = new Set<string>()
  /** Somebody wanted history to be removed. */
  isPruned = false
  /** What contradicts a promise and was seen at once. */
  readonly contradictions: string[] = []
  readonly #time: SimulatedTime
  readonly #trace: Trace

  constructor(time: SimulatedTime, trace: Trace) {
    this.#time = time
    this.#trace = trace
  }

  ask(asked: Asked): void {
    this.asked.set(asked.n, asked)
    this.#trace.add(`${this.#time.elapsed} asked ${asked.kind} ${asked.n} ${asked.type} ${asked.order.does}`)
  }

  answer(n: number, answer: NonNullable<Asked['answer']>): void {
    const asked = this.asked.get(n)
    if (asked === undefined) return
    this.#trace.add(`${this.#time.elapsed} answered ${n} ${answer.kind === 'accepted' ? answer.jobId : answer.code}`)
    if (asked.answer?.kind === 'accepted' && answer.kind === 'accepted' && asked.answer.jobId !== answer.jobId)
      this.contradictions.push(`I10: request ${n} was accepted as ${asked.answer.jobId} and as ${answer.jobId}.`)
    if (asked.answer?.kind !== 'accepted') asked.answer = answer
    if (answer.kind === 'refused' && !UNSURE.includes(answer.code)) asked.refusals++
  }

  begin(body: Omit<Body, 'endedAt' | 'how' | 'abortedFor' | 'beganAt' | 'beganWall'>): Body {
    const begun: Body = {
      ...body,
      beganAt: this.#time.elapsed,
      beganWall: this.#time.now(),
      endedAt: null,
      how: null,
      abortedFor: null,
    }
    this.bodies.push(begun)
    this.#trace.add(`${begun.beganAt} ${body.process.name} began ${body.n} ${body.jobId} ${body.attempt}`)
    return begun
  }

  /** A body of a process that is gone ends nothing. */
  end(body: Body, how: NonNullable<Body['how']>): void {
    if (body.process.isGone) return
    body.endedAt = this.#time.elapsed
    body.how = how
    this.#trace.add(`${body.endedAt} ${body.process.name} ended ${body.n} ${body.jobId} ${how}`)
  }
}
