import { afterEach, expect, test } from 'vitest'
import { childOf, childrenOf, newGroup } from '../../src/store/conformance/composition-steps.ts'
import { NOW, newJob, newJobs } from '../../src/store/conformance/fixtures.ts'
import { type FaultPoint, onFaultPoint } from '../../src/store/fault-points.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { breakAt, breaksOff, mend, withoutNames } from '../stores/breaks.ts'
import { SharedDatabase } from '../stores/shared-database.ts'
import { storeAt, storeKind } from '../stores/source-stores.ts'
import { isSoundlyComposedIn, watchChanges } from './soundness.ts'
import { Stage } from './stage.ts'

// What dependencies and groups do is broken off before its first write, before its second, and so on until it passes whole,
// and once more right before its commit. A broken one must leave every row as it was, and must not keep the next try from
// succeeding.

interface Operation {
  readonly name: string
  /** Brings the store to where the operation is possible, and returns the operation. */
  readonly prepare: (stage: Stage) => Promise<() => Promise<unknown>>
}

/** More than is dealt with at once. */
const MANY = 150

const operations: readonly Operation[] = [
  {
    name: 'enqueue of a graph',
    prepare: async (stage) => {
      const ended = await stage.start(newJob())
      await stage.finish(ended, 'FAILED')
      const live = await stage.start(newJob())
      const top = childOf([live.claim.jobId])
      const doomed = childOf([ended.claim.jobId])
      const bottom = childOf([top, doomed], 'run')
      const list = [bottom, doomed, childOf([doomed]), top, childOf([ended.claim.jobId], 'wait')]
      return () => stage.store.enqueueJobs(list, NOW)
    },
  },
  {
    name: 'creation of a parallel group with a member that cannot run',
    prepare: async (stage) => {
      const ended = await stage.start(newJob())
      await stage.finish(ended, 'FAILED')
      const members = [newJob({ businessKey: 'b' }), childOf([ended.claim.jobId]), newJob()]
      const group = newGroup()
      return () => stage.store.createGroup(group, members, NOW)
    },
  },
  {
    name: 'creation of a sequential group',
    prepare: async (stage) => {
      const group = newGroup({ mode: 'sequential' })
      const members = newJobs(4)
      return () => stage.store.createGroup(group, members, NOW)
    },
  },
  {
    name: 'finish of a parent whose children are released',
    prepare: async (stage) => {
      const top = newJob()
      const parent = await stage.start(top, ...newJobs(1), ...childrenOf(top.jobId, 3), childOf([top], 'wait'))
      return () => stage.finish(parent, 'COMPLETED')
    },
  },
  {
    name: 'finish of a failed parent, down to its grandchildren and their group',
    prepare: async (stage) => {
      const top = newJob()
      const child = childOf([top])
      const parent = await stage.start(top, child, childOf([top], 'run'), childOf([child]))
      await stage.createGroup(newGroup(), [childOf([child]), ...newJobs(2)])
      return () => stage.finish(parent, 'FAILED')
    },
  },
  {
    name: 'finish of a parent with many children',
    prepare: async (stage) => {
      const top = newJob()
      const parent = await stage.start(top, ...childrenOf(top.jobId, MANY))
      return () => stage.finish(parent, 'COMPLETED')
    },
  },
  {
    name: 'finish of a failed member, with `stop`',
    prepare: async (stage) => {
      await stage.createGroup(newGroup(), newJobs(4))
      const [member] = await stage.claim(2)
      expect.assert(member !== undefined)
      return () => stage.finish(member, 'FAILED')
    },
  },
  {
    name: 'finish of a failed member of a sequential group, with `skip`',
    prepare: async (stage) => {
      await stage.createGroup(newGroup({ mode: 'sequential', onFailure: 'skip' }), newJobs(4))
      const [member] = await stage.claim(1)
      expect.assert(member !== undefined)
      return () => stage.finish(member, 'FAILED')
    },
  },
  {
    name: 'finish of the last member',
    prepare: async (stage) => {
      await stage.createGroup(newGroup(), newJobs(1))
      const [member] = await stage.claim(1)
      expect.assert(member !== undefined)
      return () => stage.finish(member, 'COMPLETED')
    },
  },
  {
    name: 'claim of the first member',
    prepare: async (stage) => {
      // Now their policy is known. One that a process meets for the first time may be read behind the commit of its claim.
      await stage.finish(await stage.start(newJob()), 'COMPLETED')
      await stage.createGroup(newGroup(), newJobs(3))
      return () => stage.claim(2)
    },
  },
  {
    name: 'cancel of a group',
    prepare: async (stage) => {
      const group = newGroup()
      const members = newJobs(4)
      await stage.createGroup(group, members)
      await stage.claim(2)
      await stage.enqueue(members.map((member) => childOf([member])))
      return () => stage.store.cancelGroup({ groupId: group.groupId, mode: 'abort', reason: 'enough', now: NOW })
    },
  },
  {
    name: 'cancel of a group of many',
    prepare: async (stage) => {
      const group = newGroup()
      await stage.createGroup(group, newJobs(MANY))
      return () => stage.store.cancelGroup({ groupId: group.groupId, mode: 'abort', reason: 'enough', now: NOW })
    },
  },
  {
    name: 'cancel of a parent',
    prepare: async (stage) => {
      const parent = newJob()
      await stage.enqueue([parent, ...childrenOf(parent.jobId, 3), childOf([parent], 'run')])
      return () => stage.store.cancelJob({ jobId: parent.jobId, mode: 'graceful', reason: null, now: NOW })
    },
  },
  {
    name: 'a page that releases',
    prepare: async (stage) => {
      const top = newJob()
      await stage.finish(await stage.start(top, ...childrenOf(top.jobId, 2 * MANY)), 'COMPLETED')
      return () => stage.applyPage(20)
    },
  },
  {
    name: 'a page that cancels, and what follows from it',
    prepare: async (stage) => {
      const top = newJob()
      const children = childrenOf(top.jobId, MANY)
      const parent = await stage.start(top, ...children)
      await stage.enqueue(children.slice(-10).map((child) => childOf([child])))
      await stage.finish(parent, 'FAILED')
      return () => stage.applyPage(20)
    },
  },
  {
    name: 'a page that skips members',
    prepare: async (stage) => {
      await stage.createGroup(newGroup({ onFailure: 'skip' }), newJobs(2 * MANY))
      const [member] = await stage.claim(1)
      expect.assert(member !== undefined)
      await stage.finish(member, 'FAILED')
      return () => stage.applyPage(20)
    },
  },
  {
    name: 'the page that settles a group',
    prepare: async (stage) => {
      await stage.createGroup(newGroup(), newJobs(MANY))
      const [member] = await stage.claim(1)
      expect.assert(member !== undefined)
      await stage.finish(member, 'FAILED')
      return () => stage.applyPage(2 * MANY)
    },
  },
  {
    name: 'retry with dependents',
    prepare: async (stage) => {
      const top = newJob()
      const child = childOf([top], 'cancel', { businessKey: 'b' })
      const parent = await stage.start(top, child, childOf([child]))
      await stage.createGroup(newGroup({ onFailure: 'continue' }), [childOf([child]), newJob()])
      await stage.finish(parent, 'FAILED')
      return () => stage.retry(top.jobId, true)
    },
  },
  {
    name: 'a page of a retry with dependents',
    prepare: async (stage) => {
      const top = newJob()
      await stage.finish(await stage.start(top, ...childrenOf(top.jobId, MANY)), 'FAILED')
      await stage.applyPage(MANY)
      await stage.retry(top.jobId, true)
      return () => stage.applyPage(MANY)
    },
  },
  {
    name: 'prune of parents, children and a group',
    prepare: async (stage) => {
      const top = newJob()
      await stage.finish(await stage.start(top, childOf([top])), 'FAILED')
      await stage.createGroup(newGroup(), newJobs(2))
      for (const job of await stage.claim(2)) await stage.finish(job, 'COMPLETED')
      return () => stage.store.pruneChains({ endedBefore: NOW + 1, limit: 10, cursor: null })
    },
  },
]

afterEach(() => mend(onFaultPoint))

/** Every write on SQLite. On a server, where each try takes longer, the first ten, and then fewer and fewer. */
function afterWrite(write: number): number {
  return storeKind === 'sqlite' || write < 10 ? write : Math.ceil(write * 1.3)
}

test.for(operations)(
  '$name: broken off at any write, nothing of it is stored, and the next try succeeds',
  { timeout: 120_000 },
  async (operation) => {
    const database = new SharedDatabase()
    const source = database.file === null ? storeAt(database.address) : sqlite(database.file, { durability: 'process' })
    const store = await source.open()
    const operate = await operation.prepare(await Stage.on(store))
    const before = withoutNames(await database.tables())
    const changes = await watchChanges(database)
    const breaks = async (at: FaultPoint, nth: number): Promise<boolean> => {
      breakAt(onFaultPoint, at, nth)
      const isBroken = await breaksOff(operate)
      mend(onFaultPoint)
      if (isBroken) expect(await changes.hasCommitted()).toBe(false)
      return isBroken
    }
    expect(await breaks('store:before-commit', 1)).toBe(true)
    expect(withoutNames(await database.tables())).toEqual(before)
    let writes = 0
    while (await breaks('store:statement', writes + 1)) writes = afterWrite(writes + 1)
    // On a server much is one statement.
    expect(writes).toBeGreaterThan(storeKind === 'sqlite' ? 1 : 0)
    expect(await changes.hasCommitted()).toBe(true)
    expect(withoutNames(await database.tables())).not.toEqual(before)
    changes.close()
    await store.close()
    await isSoundlyComposedIn(database)
  },
)
