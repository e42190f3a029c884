import type { Said } from './said.ts'

/** What of one accepted Job somebody can rely on. */
interface AcceptedRequest {
  readonly n: number
  readonly type: string
  readonly key: string | null
}

interface End {
  readonly outcome: string
  readonly attempts: number
  readonly result: unknown
}

/** All that was said outside up to one moment of a trace. */
export class Testimony {
  /** By the numbers of the requests: also those that were never answered. */
  readonly asked = new Map<number, string>()
  /** By the ids of Jobs. */
  readonly accepted = new Map<string, AcceptedRequest>()
  readonly ends = new Map<string, End>()
  readonly cancelled = new Map<string, 'cancelled' | 'requested'>()
  /** Chains that somebody wanted to try again. */
  readonly reopened = new Set<string>()
  /** New Jobs of such chains, by their ids, with the chain. */
  readonly retried = new Map<string, string>()
  /** The params that a Job may have because of edits: of the one that was answered last, and of those without an answer. */
  readonly edits = new Map<string, { answered: string | null; readonly unanswered: Set<string> }>()
  readonly groups = new Map<string, { readonly jobIds: readonly string[]; status: string | null }>()
  readonly schedules = new Set<string>()
  readonly webhooks = new Set<string>()
  readonly received = new Set<string>()
  /** The Job of each Run whose body began. Of a direct execution both are its reservation. */
  readonly began = new Map<string, string>()
  readonly directs = new Map<string, unknown>()
  /** Jobs that a prune may have removed, and that one has. */
  readonly prunable = new Set<string>()
  readonly gone = new Set<string>()
  /** Direct executions that had begun when one was asked for: also where no Job had ended, those that had may be removed. */
  readonly prunableDirects = new Set<string>()
  /** Requests of which somebody was told that nothing of them was stored, because the disk is full. */
  readonly notStored = new Set<number>()
  readonly failures: string[] = []
  lines = 0
  /** How often retries of a chain were asked for or answered, and how many of them have no answer yet. */
  readonly #retries = new Map<string, number>()
  readonly #unanswered = new Map<string, number>()
  /** How often they were when each cancellation was asked for. */
  readonly #cancels = new Map<string, number>()

  hear(line: Said): void {
    this.lines++
    switch (line.is) {
      case 'asked':
        for (const order of line.orders) this.asked.set(order.n, inText(order))
        return
      case 'accepted':
        this.accepted.set(line.jobId, { n: line.n, type: line.type, key: line.key })
        return
      case 'settled':
        // Asked about before somebody tried it again, or after: who knows.
        if (!this.reopened.has(line.jobId)) this.ends.set(line.jobId, line)
        return
      case 'cancelling':
        this.#cancels.set(line.id, this.#retriesOf(line.jobId))
        return
      case 'cancelled':
        // A retry at the same time may have come behind it, and brought the chain back to life.
        if (this.#retriesOf(line.jobId) === this.#cancels.get(line.id) && !this.#isRetrying(line.jobId)) {
          this.cancelled.set(line.jobId, line.kind)
        }
        return
      case 'retrying':
        this.#retries.set(line.jobId, this.#retriesOf(line.jobId) + 1)
        this.#unanswered.set(line.jobId, (this.#unanswered.get(line.jobId) ?? 0) + 1)
        this.reopened.add(line.jobId)
        this.ends.delete(line.jobId)
        this.cancelled.delete(line.jobId)
        return
      case 'retried':
        this.#retries.set(line.jobId, this.#retriesOf(line.jobId) + 1)
        this.#unanswered.set(line.jobId, (this.#unanswered.get(line.jobId) ?? 1) - 1)
        if (line.newJobId !== null) this.retried.set(line.newJobId, line.jobId)
        return
      case 'editing': {
        const edit = this.edits.get(line.jobId) ?? { answered: null, unanswered: new Set<string>() }
        edit.unanswered.add(inText(line.order))
        this.edits.set(line.jobId, edit)
        return
      }
      case 'edited': {
        const edit = this.edits.get(line.jobId)
        edit?.unanswered.delete(inText(line.order))
        if (edit !== undefined) edit.answered = inText(line.order)
        return
      }
      case 'group':
        this.groups.set(line.groupId, { jobIds: line.jobIds, status: null })
        return
      case 'group-settled': {
        const group = this.groups.get(line.groupId)
        if (group !== undefined) group.status = line.status
        return
      }
      case 'schedule':
        this.schedules.add(line.scheduleId)
        return
      case 'ending-schedule':
        this.schedules.delete(line.scheduleId)
        return
      case 'webhook':
        this.webhooks.add(line.webhookId)
        return
      case 'received':
        this.received.add(line.deliveryId)
        return
      case 'began':
        this.began.set(line.runId, line.jobId)
        return
      case 'direct':
        this.directs.set(line.reservationId, line.result)
        return
      case 'pruning':
        for (const jobId of line.ended) this.prunable.add(jobId)
        for (const [runId, jobId] of this.began) if (runId === jobId) this.prunableDirects.add(runId)
        return
      case 'pruned':
        for (const jobId of line.gone) this.gone.add(jobId)
        return
      case 'refused':
        if (line.code === 'storage_full') for (const n of line.numbers) this.notStored.add(n)
        return
      case 'failed':
        this.failures.push(`${line.act}: ${line.message}`)
    }
  }

  #retriesOf(jobId: string): number {
    return this.#retries.get(jobId) ?? 0
  }

  #isRetrying(jobId: string): boolean {
    return (this.#unanswered.get(jobId) ?? 0) > 0
  }

  /** The params that an accepted Job may have. */
  paramsOf(jobId: string, n: number): readonly string[] {
    const first = this.asked.get(n) ?? ''
    const edit = this.edits.get(jobId)
    return edit === undefined ? [first] : [edit.answered ?? first, ...edit.unanswered]
  }
}

/** Params as they are compared. */
export function inText(order: unknown): string {
  return JSON.stringify(order)
}
