import { PawlError } from '../../src/domain/errors.ts'
import { defineJob } from '../../src/library/define-job.ts'
import type { AnyJobType } from '../../src/library/job-type.ts'
import { KnownTypes } from '../../src/library/known-types.ts'
import { readSchedulerOptions } from '../../src/library/scheduler-options.ts'
import type { OperationContext } from '../../src/operations/context.ts'
import { enqueueJob } from '../../src/operations/enqueue-jobs.ts'
import { type EnqueueOptions, readEnqueueOptions } from '../../src/operations/enqueue-options.ts'
import { createIdSource } from '../../src/platform/ids.ts'
import { AddressGuard } from '../../src/platform/webhook-address.ts'
import type { Store } from '../../src/store/store.ts'
import { SettableClock } from '../../src/testing/settable-clock.ts'
import { newStore } from '../stores/source-stores.ts'

/** A store and what every operation works on, with a clock that stands still unless a test moves it. */
export class Stage implements AsyncDisposable {
  readonly context: OperationContext
  readonly clock: SettableClock
  readonly store: Store

  constructor(store: Store, clock: SettableClock, context: OperationContext) {
    this.store = store
    this.clock = clock
    this.context = context
  }

  async enqueue(type: string, params: unknown, options: EnqueueOptions = {}): Promise<string> {
    const request = readEnqueueOptions(type, params, options, this.clock.now())
    return (await enqueueJob(this.context, request)).jobId
  }

  /** Claims the head of the queue, as a node that handles these types. */
  async claim(types: readonly string[], limit = 1) {
    const nodeId = this.context.newId()
    const rest = { name: 'attic', host: 'house', pid: 1, types, concurrency: 8, claims: true }
    await this.store.registerNode({ nodeId, startedAt: this.clock.now(), ...rest })
    const room = new Map(types.map((type) => [type, limit]))
    const { newId } = this.context
    const { jobs } = await this.store.claimJobs({ nodeId, now: this.clock.now(), limit, types: room, newRunId: newId })
    return jobs
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store.close()
  }
}

export const note = defineJob({ type: 'note', run: () => null })

export async function openStage(jobs: readonly AnyJobType[] = [note], source = newStore()): Promise<Stage> {
  const store = await source.open()
  const clock = new SettableClock()
  const { types } = readSchedulerOptions({ store: source, jobs })
  await store.registerTypes([...types.values()], clock.now())
  const context: OperationContext = {
    store,
    clock,
    newId: createIdSource(clock),
    types: new KnownTypes(store, types.values(), clock),
    webhookGuard: new AddressGuard([]),
  }
  return new Stage(store, clock, context)
}

/** The refusal that this call must end with. Any other error, and none at all, fails the test. */
export async function refusalOf(call: () => unknown): Promise<PawlError> {
  try {
    await call()
  } catch (error) {
    if (error instanceof PawlError) return error
    throw error
  }
  throw new Error('Expected a PawlError, but the call was not refused.')
}
