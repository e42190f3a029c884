import type { ClaimedTicket, NewTicket } from 'pawl/store'
import { expect } from 'vitest'
import {
  completed,
  failed,
  HOUR,
  NOW,
  newId,
  newJob,
  newJobs,
  newPolicy,
  SECOND,
} from '../../src/store/conformance/fixtures.ts'
import type { Operation, Stage } from './operations.ts'

/** What a store does in one transaction for direct executions. */
export const directOperations: readonly Operation[] = [
  {
    name: 'opening a ticket',
    prepare: async (stage) => {
      // Of a lane and a policy that nobody has used yet.
      const ticket = newTicket(stage, { policy: newPolicy({ resources: ['ink'], timeoutMs: 4_711 }) })
      return () => stage.store.openTicket(ticket, NOW)
    },
  },
  {
    name: 'renewing tickets',
    prepare: async (stage) => {
      const ids = [await openTicket(stage), await openTicket(stage)]
      return () => stage.store.renewTickets(ids, NOW + SECOND)
    },
  },
  {
    name: 'giving a ticket back',
    prepare: async (stage) => {
      const id = await openTicket(stage)
      return () => stage.store.releaseTicket(id, 'wait-timeout', NOW + SECOND)
    },
  },
  {
    name: 'expiring tickets',
    prepare: async (stage) => {
      await openTicket(stage)
      await openTicket(stage)
      return () => stage.store.expireTickets(NOW + SECOND, NOW + SECOND)
    },
  },
  {
    name: 'claim of tickets and Jobs',
    prepare: async (stage) => {
      await stage.enqueue(...newJobs(2))
      await openTicket(stage)
      await openTicket(stage)
      const request = { nodeId: stage.node.nodeId, now: NOW, limit: 4, types: new Map([['story', 4]]) }
      return () => stage.store.claimJobs({ ...request, newRunId: newId })
    },
  },
  {
    name: 'finish of direct executions with follow-ups',
    prepare: async (stage) => {
      const [first, second] = [await startDirect(stage), await startDirect(stage)]
      const followUps = [newJob({ businessKey: 'b' }), newJob({ type: 'poem' })]
      const ends = [first, second].map((ticket) => endOf(ticket))
      return () => stage.store.finishDirectRuns(ends.map((end, index) => (index === 0 ? { ...end, followUps } : end)))
    },
  },
  {
    name: 'finish of a direct execution that still executes',
    prepare: async (stage) => {
      const end = { ...endOf(await startDirect(stage)), outcome: failed('timeout'), body: 'executing' } as const
      return () => stage.store.finishDirectRuns([end])
    },
  },
  {
    name: 'release of a direct occupancy',
    prepare: async (stage) => {
      const ticket = await startDirect(stage)
      await stage.store.finishDirectRuns([{ ...endOf(ticket), outcome: failed('timeout'), body: 'executing' }])
      return () => stage.store.releaseDirectOccupancies([ticket.claim], NOW + SECOND)
    },
  },
  {
    name: 'record of a child of a direct execution',
    prepare: async (stage) => {
      const { claim } = await startDirect(stage)
      const child = { pid: 4_711, startTime: '1', host: 'h', bootId: 'b', pidNamespace: 'n' }
      return () => stage.store.recordDirectChild(claim, child)
    },
  },
  {
    name: 'prune of reservations',
    prepare: async (stage) => {
      await stage.store.finishDirectRuns([endOf(await startDirect(stage)), endOf(await startDirect(stage))])
      return () => stage.store.pruneReservations({ endedBefore: NOW + HOUR, limit: 10, cursor: null })
    },
  },
]

function newTicket({ node }: Stage, overrides: Partial<NewTicket> = {}): NewTicket {
  const rest = { params: 'null', policy: newPolicy(), callerNodeId: node.nodeId, createdBy: null }
  return { reservationId: newId(), type: 'story', onBusy: 'wait', ...rest, ...overrides }
}

async function openTicket(stage: Stage): Promise<string> {
  const ticket = newTicket(stage)
  expect(await stage.store.openTicket(ticket, NOW)).toBe('waiting')
  return ticket.reservationId
}

async function startDirect(stage: Stage): Promise<ClaimedTicket> {
  await openTicket(stage)
  const request = { nodeId: stage.node.nodeId, now: NOW, limit: 1, types: new Map([['story', 1]]), newRunId: newId }
  const [ticket] = (await stage.store.claimJobs(request)).tickets
  expect.assert(ticket !== undefined)
  return ticket
}

function endOf(ticket: ClaimedTicket) {
  return { ticket, outcome: completed(), finishedAt: NOW + SECOND, followUps: [], body: 'ended' } as const
}
