import type { Group } from '../domain/group.ts'
import { invalid, readText } from '../domain/options.ts'
import type { CancelOptions } from '../operations/cancel-job.ts'
import type { OperationContext } from '../operations/context.ts'
import { cancelGroup, createGroup, type GroupOptions, getGroup, listGroups } from '../operations/groups.ts'
import { groupNotFound } from '../operations/not-found.ts'
import type { EnqueuedItem, Page } from '../store/jobs.ts'
import type { JobHandle } from './job-handle.ts'
import type { AnyJobType } from './job-type.ts'
import { type EnqueueItem, type HandleOf, readItems } from './listed-jobs.ts'

/** An accepted group. */
export interface GroupHandle<Jobs extends readonly JobHandle[] = readonly JobHandle[]> {
  readonly groupId: string
  /** Its members, in the given order. */
  readonly jobs: Jobs
  get(): Promise<Group>
  /** Waits until the chains of all members have ended. Never rejects because a member failed. */
  settled(): Promise<Group>
  cancel(options?: Omit<CancelOptions, 'version'>): Promise<Group>
}

export interface GroupsParts {
  readonly context: OperationContext
  /** Refuses when the scheduler is closed. */
  readonly call: <T>(work: () => Promise<T>) => Promise<T>
  readonly handle: (item: EnqueuedItem) => JobHandle
  readonly wait: (groupId: string) => Promise<Group | null>
}

/** Jobs that belong together: `scheduler.groups`. */
export class Groups {
  readonly #parts: GroupsParts

  /** @internal */
  constructor(parts: GroupsParts) {
    this.#parts = parts
  }

  /** Accepts a group with all its members, or nothing. A batch is a parallel group. */
  create<const Types extends readonly (AnyJobType | string)[]>(
    options: GroupOptions & { readonly jobs: { readonly [Index in keyof Types]: EnqueueItem<Types[Index]> } },
  ): Promise<GroupHandle<{ -readonly [Index in keyof Types]: HandleOf<Types[Index]> }>> {
    return this.#parts.call(async () => {
      if (typeof options !== 'object' || options === null) throw invalid('options', '{ jobs: [ … ] }', options)
      const { jobs, ...rest } = options
      const { context, handle } = this.#parts
      const requests = readItems(jobs as readonly EnqueueItem<AnyJobType>[], context.clock.now())
      const { groupId, items } = await createGroup(context, rest, requests)
      return {
        groupId,
        jobs: items.map(handle) as never,
        get: () => this.get(groupId),
        settled: () => this.settled(groupId),
        cancel: (cancelOptions) => this.cancel(groupId, cancelOptions),
      }
    })
  }

  /** With its status and the number of members in each state. Its members: `scheduler.listJobs({ groupId })`. */
  get(groupId: string): Promise<Group> {
    return this.#parts.call(() => getGroup(this.#parts.context, groupId))
  }

  /** Newest first. */
  list(options?: { readonly limit?: number; readonly cursor?: string | null }): Promise<Page<Group>> {
    return this.#parts.call(() => listGroups(this.#parts.context, options))
  }

  /** Cancels all members that have not ended. */
  cancel(groupId: string, options?: CancelOptions): Promise<Group> {
    return this.#parts.call(() => cancelGroup(this.#parts.context, groupId, options))
  }

  /** Waits until the chains of all members have ended, in whatever processes they run. */
  settled(groupId: string): Promise<Group> {
    return this.#parts.call(async () => {
      const group = await this.#parts.wait(readText(groupId, 'groupId'))
      if (group === null) throw groupNotFound(groupId)
      return group
    })
  }
}
