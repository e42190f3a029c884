import { expect } from 'vitest'
import {
  type AnyJobType,
  openScheduler,
  type Scheduler,
  type SchedulerOptions,
  type Why,
  type WhyCode,
  type WhyReason,
} from '../../src/index.ts'
import type { StoreSource } from '../../src/store/store.ts'
import { openTestScheduler, SettableClock, type TestScheduler } from '../../src/testing/index.ts'
import { newSharedStore } from '../stores/source-stores.ts'

type Reason<Code extends WhyCode> = Extract<WhyReason, { code: Code }>

/** One store, a node that executes, and a second scheduler on the same store that only looks. */
export class Stage implements AsyncDisposable {
  readonly worker: TestScheduler
  readonly scheduler: Scheduler
  readonly clock: SettableClock
  readonly store: StoreSource
  readonly #observer: Scheduler

  private constructor(worker: TestScheduler, observer: Scheduler, store: StoreSource) {
    this.worker = worker
    this.scheduler = worker.scheduler
    this.clock = worker.clock
    this.store = store
    this.#observer = observer
  }

  static async open(
    jobs: readonly AnyJobType[],
    options: Partial<SchedulerOptions> & { readonly clock?: SettableClock } = {},
  ): Promise<Stage> {
    const { clock = new SettableClock(), store = newSharedStore(), ...rest } = options
    const worker = await openTestScheduler({ name: 'attic', jobs, clock, store, ...rest })
    const observer = await openScheduler({ name: 'street', store, clock })
    return new Stage(worker, observer, store)
  }

  /** The answer, which must be the same wherever it is asked for. */
  async why(job: { readonly jobId: string } | string): Promise<Why> {
    const jobId = typeof job === 'string' ? job : job.jobId
    const why = await this.scheduler.why(jobId)
    expect(await this.#observer.why(jobId)).toEqual(why)
    // It is to be sent as JSON.
    expect(JSON.parse(JSON.stringify(why))).toEqual(why)
    for (const { message } of why.reasons) expect(message).toMatch(/^[A-Z0-9].*\.$/)
    return why
  }

  /** The one reason with this code. */
  async reason<Code extends WhyCode>(job: { readonly jobId: string }, code: Code): Promise<Reason<Code>> {
    const { reasons } = await this.why(job)
    const found = reasons.filter((reason) => reason.code === code)
    expect(found.map(({ message }) => message)).toHaveLength(1)
    return found[0] as Reason<Code>
  }

  async codes(job: { readonly jobId: string }): Promise<string[]> {
    return (await this.why(job)).reasons.map(({ code }) => code)
  }

  async runIdOf(job: { readonly jobId: string }): Promise<string> {
    return (await this.scheduler.findRunOfJob(job.jobId))?.runId ?? ''
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#observer.close()
    await this.worker.close()
  }
}

/** A door that bodies wait at until the test opens it. */
export function newGate(): { readonly passed: Promise<void>; open(): void } {
  let open = (): void => {}
  const passed = new Promise<void>((resolve) => {
    open = resolve
  })
  return { passed, open }
}
