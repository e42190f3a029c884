import { endOfDirect, failed, HOUR, NOW, newId, newJob, newJobs, newPolicy, SECOND } from '../fixtures.ts'
import type { Operation } from '../stage.ts'

const CHILD = { pid: 4_711, startTime: '1', host: 'h', bootId: 'b', pidNamespace: 'n' }

/** Direct executions and their tickets. */
export const directOperations: readonly Operation[] = [
  {
    name: 'opening a ticket',
    prepare: async (stage) => {
      // Of a lane and a policy that nobody has used yet.
      const ticket = stage.newTicket({ policy: newPolicy({ resources: ['ink'], timeoutMs: 4_711 }) })
      return () => stage.store.openTicket(ticket, NOW)
    },
    again: 'refused',
  },
  {
    name: 'renewing tickets',
    prepare: async (stage) => {
      const ids = [await stage.openTicket(), await stage.openTicket()]
      return () => stage.store.renewTickets(ids, NOW + SECOND)
    },
  },
  {
    name: 'giving a ticket back',
    prepare: async (stage) => {
      const id = await stage.openTicket()
      return () => stage.store.releaseTicket(id, 'wait-timeout', NOW + SECOND)
    },
  },
  {
    name: 'expiring tickets',
    prepare: async (stage) => {
      await stage.openTicket()
      await stage.openTicket()
      return () => stage.store.expireTickets(NOW + SECOND, NOW + SECOND)
    },
  },
  {
    name: 'expiring the tickets of a dead node',
    prepare: async (stage) => {
      await stage.openTicket()
      await stage.openTicket()
      return () => stage.store.expireTicketsOf(stage.node.nodeId, NOW + SECOND)
    },
  },
  {
    name: 'claim of tickets and Jobs',
    prepare: async (stage) => {
      await stage.enqueue(...newJobs(2))
      await stage.openTicket()
      await stage.openTicket()
      const request = { nodeId: stage.node.nodeId, now: NOW, limit: 4, types: new Map([['story', 4]]) }
      return () => stage.store.claimJobs({ ...request, newRunId: newId })
    },
  },
  {
    name: 'finish of direct executions with follow-ups',
    prepare: async (stage) => {
      const [first, second] = [await stage.startDirect(), await stage.startDirect()]
      const followUps = [newJob({ businessKey: 'b' }), newJob({ type: 'poem' })]
      const ends = [endOfDirect(first, { followUps }), endOfDirect(second)]
      return () => stage.store.finishDirectRuns(ends)
    },
  },
  {
    name: 'finish of a direct execution that still executes',
    prepare: async (stage) => {
      const end = endOfDirect(await stage.startDirect(), { outcome: failed('timeout'), body: 'executing' })
      return () => stage.store.finishDirectRuns([end])
    },
  },
  {
    name: 'release of a direct occupancy',
    prepare: async (stage) => {
      const ticket = await stage.startDirect()
      await stage.store.finishDirectRuns([endOfDirect(ticket, { outcome: failed('timeout'), body: 'executing' })])
      return () => stage.store.releaseDirectOccupancies([ticket.claim], NOW + SECOND)
    },
  },
  {
    name: 'record of a child of a direct execution',
    prepare: async (stage) => {
      const { claim } = await stage.startDirect()
      return () => stage.store.recordDirectChild(claim, CHILD)
    },
  },
  {
    name: 'prune of reservations',
    prepare: async (stage) => {
      const tickets = [await stage.startDirect(), await stage.startDirect()]
      await stage.store.finishDirectRuns(tickets.map((ticket) => endOfDirect(ticket)))
      return () => stage.store.pruneReservations({ endedBefore: NOW + HOUR, limit: 10, cursor: null })
    },
  },
]
