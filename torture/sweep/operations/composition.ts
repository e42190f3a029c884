import { childOf, childrenOf, MANY, NOW, newGroup, newId, newJob, newJobs } from '../fixtures.ts'
import { type Operation, one, type Stage } from '../stage.ts'

const retryOf = (stage: Stage, jobId: string, newJobId = newId()) =>
  stage.store.retryByHand({ by: { jobId }, newJobId, priority: null, now: NOW, dependents: { newId } })

/** Dependencies, groups, and the cascades that tell many. */
export const compositionOperations: readonly Operation[] = [
  {
    name: 'enqueue of a graph',
    prepare: async (stage) => {
      const ended = await stage.start(newJob())
      await stage.settle(ended, 'FAILED')
      const live = await stage.start(newJob())
      const top = childOf([live.claim.jobId])
      const doomed = childOf([ended.claim.jobId])
      const bottom = childOf([top, doomed], 'run')
      const list = [bottom, doomed, childOf([doomed]), top, childOf([ended.claim.jobId], 'wait')]
      return () => stage.store.enqueueJobs(list, NOW)
    },
    again: 'refused',
  },
  {
    name: 'creation of a parallel group with a member that cannot run',
    prepare: async (stage) => {
      const ended = await stage.start(newJob())
      await stage.settle(ended, 'FAILED')
      const members = [newJob({ businessKey: 'b' }), childOf([ended.claim.jobId]), newJob()]
      const group = newGroup()
      return () => stage.store.createGroup(group, members, NOW)
    },
    again: 'refused',
  },
  {
    name: 'creation of a sequential group',
    prepare: async (stage) => {
      const group = newGroup({ mode: 'sequential' })
      const members = newJobs(4)
      return () => stage.store.createGroup(group, members, NOW)
    },
    again: 'refused',
  },
  {
    name: 'finish of a parent whose children are released',
    prepare: async (stage) => {
      const top = newJob()
      const parent = await stage.start(top, ...newJobs(1), ...childrenOf(top.jobId, 3), childOf([top], 'wait'))
      return () => stage.settle(parent, 'COMPLETED')
    },
  },
  {
    name: 'finish of a failed parent, down to its grandchildren and their group',
    prepare: async (stage) => {
      const top = newJob()
      const child = childOf([top])
      const parent = await stage.start(top, child, childOf([top], 'run'), childOf([child]))
      await stage.createGroup(newGroup(), [childOf([child]), ...newJobs(2)])
      return () => stage.settle(parent, 'FAILED')
    },
  },
  {
    name: 'finish of a parent with many children',
    prepare: async (stage) => {
      const top = newJob()
      const parent = await stage.start(top, ...childrenOf(top.jobId, MANY))
      return () => stage.settle(parent, 'COMPLETED')
    },
  },
  {
    name: 'finish of a failed member, with `stop`',
    prepare: async (stage) => {
      await stage.createGroup(newGroup(), newJobs(4))
      const member = one(await stage.claim(2))
      return () => stage.settle(member, 'FAILED')
    },
  },
  {
    name: 'finish of a failed member of a sequential group, with `skip`',
    prepare: async (stage) => {
      await stage.createGroup(newGroup({ mode: 'sequential', onFailure: 'skip' }), newJobs(4))
      const member = one(await stage.claim())
      return () => stage.settle(member, 'FAILED')
    },
  },
  {
    name: 'finish of the last member',
    prepare: async (stage) => {
      await stage.createGroup(newGroup(), newJobs(1))
      const member = one(await stage.claim())
      return () => stage.settle(member, 'COMPLETED')
    },
  },
  {
    name: 'claim of the first member',
    prepare: async (stage) => {
      // Now their policy is known. One that a process meets for the first time may be read behind the commit of its claim.
      await stage.settle(await stage.start(newJob()), 'COMPLETED')
      await stage.createGroup(newGroup(), newJobs(3))
      return () => stage.claim(2)
    },
    again: 'more',
  },
  {
    name: 'cancel of a group',
    prepare: async (stage) => {
      const group = newGroup()
      const members = newJobs(4)
      await stage.createGroup(group, members)
      await stage.claim(2)
      await stage.enqueue(...members.map((member) => childOf([member])))
      return () => stage.store.cancelGroup({ groupId: group.groupId, mode: 'abort', reason: 'enough', now: NOW })
    },
    again: 'told',
  },
  {
    name: 'cancel of a group of many',
    prepare: async (stage) => {
      const group = newGroup()
      await stage.createGroup(group, newJobs(MANY))
      return () => stage.store.cancelGroup({ groupId: group.groupId, mode: 'abort', reason: 'enough', now: NOW })
    },
    again: 'more',
  },
  {
    name: 'cancel of a parent',
    prepare: async (stage) => {
      const parent = newJob()
      await stage.enqueue(parent, ...childrenOf(parent.jobId, 3), childOf([parent], 'run'))
      return () => stage.store.cancelJob({ jobId: parent.jobId, mode: 'graceful', reason: null, now: NOW })
    },
  },
  {
    name: 'a page that releases',
    prepare: async (stage) => {
      const top = newJob()
      await stage.settle(await stage.start(top, ...childrenOf(top.jobId, 2 * MANY)), 'COMPLETED')
      return () => stage.applyPage(20)
    },
    again: 'more',
  },
  {
    name: 'a page that cancels, and what follows from it',
    prepare: async (stage) => {
      const top = newJob()
      const children = childrenOf(top.jobId, MANY)
      const parent = await stage.start(top, ...children)
      await stage.enqueue(...children.slice(-10).map((child) => childOf([child])))
      await stage.settle(parent, 'FAILED')
      return () => stage.applyPage(20)
    },
    again: 'more',
  },
  {
    name: 'a page that skips members',
    prepare: async (stage) => {
      await stage.createGroup(newGroup({ onFailure: 'skip' }), newJobs(2 * MANY))
      await stage.settle(one(await stage.claim()), 'FAILED')
      return () => stage.applyPage(20)
    },
    again: 'more',
  },
  {
    name: 'the page that settles a group',
    prepare: async (stage) => {
      await stage.createGroup(newGroup(), newJobs(MANY))
      await stage.settle(one(await stage.claim()), 'FAILED')
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
      await stage.settle(parent, 'FAILED')
      const newJobId = newId()
      return () => retryOf(stage, top.jobId, newJobId)
    },
    again: 'told',
  },
  {
    name: 'a page of a retry with dependents',
    prepare: async (stage) => {
      const top = newJob()
      await stage.settle(await stage.start(top, ...childrenOf(top.jobId, MANY)), 'FAILED')
      await stage.applyPage(MANY)
      await retryOf(stage, top.jobId)
      return () => stage.applyPage(MANY)
    },
  },
  {
    name: 'prune of parents, children and a group',
    prepare: async (stage) => {
      const top = newJob()
      await stage.settle(await stage.start(top, childOf([top])), 'FAILED')
      await stage.createGroup(newGroup(), newJobs(2))
      for (const job of await stage.claim(2)) await stage.settle(job, 'COMPLETED')
      return () => stage.store.pruneChains({ endedBefore: NOW + 1, limit: 10, cursor: null })
    },
  },
]
