import type { Derived } from 'pawl/store'
import {
  attemptOf,
  childOf,
  endOf,
  failed,
  HOUR,
  NOW,
  newGroup,
  newId,
  newJob,
  newJobs,
  newNode,
  newPolicy,
  newRetry,
  REPORT,
  SECOND,
} from '../fixtures.ts'
import { type Operation, one, type Stage } from '../stage.ts'

/** How each thing that is stored a second time is made wrong, as only a person with SQL can. */
const DAMAGES: Readonly<Partial<Record<Derived, (stage: Stage) => Promise<string>>>> = {
  nodes: async (stage) => {
    await stage.start()
    return `update pawl_nodes set ended_at = ${NOW}`
  },
  dependents: async (stage) => {
    const top = newJob()
    await stage.settle(await stage.start(top, childOf([top], 'wait')), 'FAILED')
    return "update pawl_dependencies set on_failure = 'run'"
  },
  queue: async (stage) => {
    await stage.enqueue(newJob({ priority: 3 }), ...newJobs(2))
    return 'update pawl_queue set priority = 9'
  },
  groups: async (stage) => {
    await stage.createGroup(newGroup(), newJobs(3))
    await stage.settle(one(await stage.claim()), 'COMPLETED')
    return 'update pawl_groups set completed = 2'
  },
  tags: async (stage) => {
    await stage.enqueue(newJob({ tags: ['red', 'blue'] }), newJob({ tags: ['red'] }))
    return "delete from pawl_job_tags where tag = 'red'"
  },
  'business-keys': async (stage) => {
    await stage.enqueue(newJob({ businessKey: 'a' }), newJob({ businessKey: 'b' }))
    return 'delete from pawl_business_keys'
  },
  'scheduled-chains': async (stage) => {
    await stage.fireNext(await stage.createSchedule())
    return 'delete from pawl_scheduled_chains'
  },
}

/** What keeps a store in order: nodes, types, limits, statistics, pruning and repairs. */
export const upkeepOperations: readonly Operation[] = [
  {
    name: 'register of a node',
    prepare: async (stage) => {
      const node = newNode({ types: ['story', 'song'] })
      return () => stage.store.registerNode(node)
    },
  },
  {
    name: 'a node that stops claiming',
    prepare: async (stage) => () => stage.store.setNodeClaims(stage.node.nodeId, false),
  },
  {
    name: 'removal of a node',
    prepare: async (stage) => {
      await stage.complete()
      return () => stage.store.removeNode(stage.node.nodeId, NOW + SECOND)
    },
  },
  {
    name: 'register of types',
    prepare: async (stage) => {
      const types = ['story', 'poem', 'song'].map((type) => ({ type, policy: newPolicy({ timeoutMs: 4_711 }) }))
      return () => stage.store.registerTypes(types, NOW)
    },
  },
  {
    name: 'declaring limits',
    prepare: async (stage) => {
      const limits = ['resource:ink', 'resource:paper', 'type:story'].map((name, index) => ({ name, max: index + 1 }))
      return () => stage.store.declareLimits(limits)
    },
  },
  {
    name: 'setting a limit while its permits are taken',
    prepare: async (stage) => {
      await stage.store.declareLimits([{ name: 'type:story', max: 3 }])
      await stage.enqueue(...newJobs(2))
      await stage.claim(2)
      return () => stage.store.setLimit('type:story', 1)
    },
  },
  {
    name: 'removing a limit',
    prepare: async (stage) => {
      await stage.store.declareLimits([{ name: 'type:story', max: 3 }])
      return () => stage.store.setLimit('type:story', null)
    },
  },
  {
    name: 'adding up the hours of the statistics',
    prepare: async (stage) => {
      await stage.finish(endOf(await stage.start()))
      await stage.finish(endOf(await stage.start(), { finishedAt: NOW + 2 * HOUR }))
      return () => stage.store.foldHours({ nodesBefore: NOW + 9 * HOUR, hoursBefore: NOW + 9 * HOUR })
    },
  },
  {
    name: 'adding up the minutes of the statistics',
    prepare: async (stage) => {
      await stage.finish(endOf(await stage.start()))
      await stage.finish(endOf(await stage.start(), { finishedAt: NOW + HOUR / 2 }))
      return () => stage.store.foldMinutes({ before: NOW + 9 * HOUR, limit: 100 })
    },
  },
  {
    name: 'prune',
    prepare: async (stage) => {
      await stage.subscribe()
      const job = await stage.start(newJob({ idempotency: { key: 'i', fingerprint: 'f' }, tags: ['red'] }))
      await stage.finish(endOf(job, { outcome: failed(), retry: newRetry(), report: REPORT }))
      const retry = one(await stage.claim(1, NOW + SECOND))
      await stage.finish(endOf(retry), endOf(await stage.start()))
      // What has not been told yet is kept.
      await stage.store.recordDeliveryAttempts((await stage.lease()).map((leased) => attemptOf(leased)))
      return () => stage.store.pruneChains({ endedBefore: NOW + HOUR, limit: 10, cursor: null })
    },
  },
  {
    name: 'prune of events',
    prepare: async (stage) => {
      await stage.complete(3)
      return () => stage.store.pruneEvents(NOW + HOUR, 3)
    },
    again: 'more',
  },
  {
    name: 'repair of a Run that is missing',
    prepare: async (stage) => {
      const { jobId } = (await stage.start(newJob({ businessKey: 'b' }))).claim
      const theJob = `where seq = (select seq from pawl_jobs where job_id = '${jobId}')`
      await stage.database.damage(`delete from pawl_occupancies ${theJob}`)
      await stage.database.damage(`delete from pawl_runs ${theJob}`)
      const made = { runId: newId(), retry: newRetry(), newId, now: NOW + SECOND }
      const outcome = failed('crash')
      return () => stage.store.repairMissingRun({ jobId, by: stage.node.nodeId, outcome, ...made })
    },
  },
  {
    name: 'repair of a retry that is missing',
    prepare: async (stage) => {
      const job = await stage.start()
      await stage.finish(endOf(job, { outcome: failed(), retry: newRetry() }))
      const { jobId } = job.claim
      const retries = `select seq from pawl_jobs where retry_of = '${jobId}'`
      await stage.database.damage(`delete from pawl_queue where seq in (${retries})`)
      await stage.database.damage(`delete from pawl_jobs where retry_of = '${jobId}'`)
      const retry = newRetry()
      return () => stage.store.repairMissingRetry({ jobId, retry, now: NOW + SECOND })
    },
  },
  ...Object.entries(DAMAGES).map(([what, damage]) => ({
    name: `making anew of ${what}`,
    prepare: async (stage: Stage) => {
      await stage.database.damage(await damage(stage))
      return () => stage.store.rebuild(what as Derived, NOW)
    },
  })),
]
