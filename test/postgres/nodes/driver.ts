import type { Scheduler } from 'pawl'
import { type Ack, type Recorder, sharedNow } from './record.ts'
import type { Call, Request, Wave } from './workload.ts'

/** Asks for Jobs, and writes down each answer before anything else. */
export class Driver {
  readonly #scheduler: Scheduler
  readonly #recorder: Recorder
  readonly #jobIds = new Map<number, string>()

  constructor(scheduler: Scheduler, recorder: Recorder) {
    this.#scheduler = scheduler
    this.#recorder = recorder
  }

  /** How many requests were acknowledged. */
  get acknowledged(): number {
    return this.#jobIds.size
  }

  /** Makes all calls of a wave at the same time. */
  async ask(wave: Wave): Promise<void> {
    await Promise.all(wave.map((call) => this.#ask(call)))
  }

  async #ask(call: Call): Promise<void> {
    const askedAt = sharedNow()
    const jobIds = await this.#call(call)
    const answeredAt = sharedNow()
    const acks: Ack[] = call.requests.map(({ order }, index) => {
      return { n: order.n, jobId: jobIds[index] ?? 'none', askedAt, answeredAt }
    })
    await this.#recorder.acknowledged(acks)
    for (const { n, jobId } of acks) this.#jobIds.set(n, jobId)
  }

  async #call(call: Call): Promise<string[]> {
    const scheduler = this.#scheduler
    const items = call.requests.map((request) => this.#toItem(request, call))
    switch (call.kind) {
      case 'one': {
        const [{ type, order, options }] = call.requests
        return [(await scheduler.enqueue(type, order, options)).jobId]
      }
      case 'many':
        return (await scheduler.enqueueMany(items)).map(({ jobId }) => jobId)
      case 'group': {
        const { mode, onFailure } = call
        const { jobs } = await scheduler.groups.create({ mode, onFailure, jobs: items })
        return jobs.map(({ jobId }) => jobId)
      }
    }
  }

  #toItem({ type, order, options, parents }: Request, { requests }: Call) {
    const own = new Set(requests.map(({ order: { n } }) => n))
    const dependsOn = parents.map((n) => (own.has(n) ? `#${n}` : (this.#jobIds.get(n) ?? `unknown ${n}`)))
    return { type, params: order, ref: `${order.n}`, ...options, ...(dependsOn.length > 0 ? { dependsOn } : {}) }
  }
}
