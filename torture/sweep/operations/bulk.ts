import type { NewBulkOperation } from 'pawl/store'
import { childOf, NOW, newGroup, newId, newJob, newJobs } from '../fixtures.ts'
import { type Operation, one, type Stage } from '../stage.ts'

const newOrder = (overrides: Partial<NewBulkOperation> = {}): NewBulkOperation => ({
  operationId: newId(),
  kind: 'cancel',
  filter: { type: 'story' },
  jobIds: null,
  mode: 'graceful',
  reason: 'swept',
  createdBy: null,
  matched: { matched: 3, isMatchedCapped: false },
  ...overrides,
})

async function begin(stage: Stage, overrides: Partial<NewBulkOperation> = {}): Promise<string> {
  const order = newOrder(overrides)
  await stage.store.startOperation(order, NOW)
  return order.operationId
}

const applyPage = (stage: Stage, operationId: string, jobIds: readonly string[]) => {
  const page = { operationId, pages: 0, jobIds, failed: 1, next: { walk: 0, cursor: '7' } }
  return () => stage.store.applyOperationPage({ ...page, newId, now: NOW })
}

/** Orders for many Jobs, and their pages. */
export const bulkOperations: readonly Operation[] = [
  {
    name: 'start of a bulk operation',
    prepare: async (stage) => {
      const order = newOrder()
      return () => stage.store.startOperation(order, NOW)
    },
    again: 'refused',
  },
  {
    name: 'page of a bulk cancel, with a running Job, a parent and a member of a group',
    prepare: async (stage) => {
      const running = await stage.start()
      const parent = newJob()
      await stage.enqueue(parent, childOf([parent]))
      const members = newJobs(3)
      await stage.createGroup(newGroup(), members)
      const operationId = await begin(stage)
      return applyPage(stage, operationId, [running.claim.jobId, parent.jobId, one(members).jobId, newId()])
    },
  },
  {
    name: 'page of a bulk retry',
    prepare: async (stage) => {
      const failed = await stage.start()
      await stage.settle(failed, 'FAILED')
      const fine = await stage.start()
      await stage.settle(fine, 'COMPLETED')
      const operationId = await begin(stage, { kind: 'retry', mode: null, reason: null })
      return applyPage(stage, operationId, [failed.claim.jobId, fine.claim.jobId])
    },
  },
  {
    name: 'abort of a bulk operation',
    prepare: async (stage) => {
      const operationId = await begin(stage)
      return () => stage.store.abortOperation(operationId, NOW)
    },
  },
  {
    name: 'pruning of bulk operations',
    prepare: async (stage) => {
      for (let n = 0; n < 3; n++) await stage.store.abortOperation(await begin(stage), NOW)
      return () => stage.store.pruneOperations(NOW + 1, 2)
    },
    again: 'more',
  },
]
