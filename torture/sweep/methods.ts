import type { Store } from 'pawl/store'

type MethodOf<Contract> = {
  [Name in keyof Contract]: Contract[Name] extends (...args: never[]) => unknown ? Name : never
}[keyof Contract]

/**
 * Every method of the contract: the compiler sees to it that none is missing. Each that writes must be part of an operation
 * that is swept. A backup changes no row; `audited` gives a view, and what is done on it counts.
 */
const METHODS: Readonly<Record<MethodOf<Store>, 'reads' | 'writes'>> = {
  abortOperation: 'writes',
  applyCascade: 'writes',
  applyOperationPage: 'writes',
  archiveTemplate: 'writes',
  audited: 'writes',
  backup: 'reads',
  cancelGroup: 'writes',
  cancelJob: 'writes',
  changeSchedule: 'writes',
  changeTemplate: 'writes',
  changeWebhook: 'writes',
  checkInvariants: 'reads',
  claimJobs: 'writes',
  close: 'reads',
  countAudit: 'reads',
  countPrunableChains: 'reads',
  countPrunableOperations: 'reads',
  countPrunableReservations: 'reads',
  countEnded: 'reads',
  countQueue: 'reads',
  createGroup: 'writes',
  createKey: 'writes',
  createSchedule: 'writes',
  createTemplate: 'writes',
  createWebhook: 'writes',
  declareDefaultSecret: 'writes',
  declareLimits: 'writes',
  declareSchedule: 'writes',
  disableSchedule: 'writes',
  editJob: 'writes',
  enqueueJobs: 'writes',
  enqueueJobsWithin: 'writes',
  expireTickets: 'writes',
  expireTicketsOf: 'writes',
  findCancelWishes: 'reads',
  findChain: 'reads',
  findChainEnds: 'reads',
  findDamage: 'reads',
  findDelivery: 'reads',
  findDueSchedules: 'reads',
  findGroup: 'reads',
  findJob: 'reads',
  findKey: 'reads',
  findKeyByHash: 'reads',
  findOperation: 'reads',
  findParentResults: 'reads',
  findReservationStatuses: 'reads',
  findReservations: 'reads',
  findRun: 'reads',
  findRunOfJob: 'reads',
  findRunningOperations: 'reads',
  findSchedule: 'reads',
  findSchedulesPlannedAfter: 'reads',
  findSettledGroups: 'reads',
  findStanding: 'reads',
  findTemplate: 'reads',
  findTypes: 'reads',
  findWebhook: 'reads',
  finishDirectRuns: 'writes',
  finishRuns: 'writes',
  fireSlots: 'writes',
  foldHours: 'writes',
  foldMinutes: 'writes',
  hasCascades: 'reads',
  hasKeys: 'reads',
  lastEventSeq: 'reads',
  leaseDeliveries: 'writes',
  listAudit: 'reads',
  listDeliveries: 'reads',
  listDirectOccupancies: 'reads',
  listGroups: 'reads',
  listHours: 'reads',
  listChildren: 'reads',
  listFailedRuns: 'reads',
  listJobs: 'reads',
  listKeys: 'reads',
  listLimits: 'reads',
  listNodes: 'reads',
  listOccupancies: 'reads',
  listOperations: 'reads',
  listQueue: 'reads',
  listReservations: 'reads',
  listMinutes: 'reads',
  listRunTimes: 'reads',
  listRuns: 'reads',
  listSchedules: 'reads',
  listSkippedSlots: 'reads',
  listTemplates: 'reads',
  listWebhooks: 'reads',
  matchJobs: 'reads',
  moveJob: 'writes',
  nextDeliveryAt: 'reads',
  nextDueAt: 'reads',
  nextSlotAt: 'reads',
  normalisePositions: 'writes',
  openTicket: 'writes',
  pruneAudit: 'writes',
  pruneChains: 'writes',
  pruneEvents: 'writes',
  pruneOperations: 'writes',
  pruneReservations: 'writes',
  readEvents: 'reads',
  readLogs: 'reads',
  readTotals: 'reads',
  readVitals: 'reads',
  rebuild: 'writes',
  recordAudit: 'writes',
  recordChild: 'writes',
  recordDeliveryAttempts: 'writes',
  recordDirectChild: 'writes',
  recordReports: 'writes',
  registerNode: 'writes',
  registerTypes: 'writes',
  releaseDeliveries: 'writes',
  releaseDirectOccupancies: 'writes',
  releaseOccupancies: 'writes',
  releaseTicket: 'writes',
  removeNode: 'writes',
  removeSchedule: 'writes',
  removeWebhook: 'writes',
  renewTickets: 'writes',
  repairMissingRetry: 'writes',
  repairMissingRun: 'writes',
  replayDeliveries: 'writes',
  replayDelivery: 'writes',
  reprioritiseJob: 'writes',
  retryByHand: 'writes',
  revokeKey: 'writes',
  rotateDefaultSecret: 'writes',
  rotateWebhookSecret: 'writes',
  setLimit: 'writes',
  setNodeClaims: 'writes',
  startOperation: 'writes',
  subscribe: 'reads',
  triggerSchedule: 'writes',
}

/** Those that write, and that no operation has called. */
export function findUnswept(called: ReadonlySet<string>): string[] {
  return Object.entries(METHODS)
    .filter(([name, kind]) => kind === 'writes' && !called.has(name))
    .map(([name]) => name)
}

/** The same store. Each call is noted while `isNoted`. */
export function watchCalls(store: Store, called: Set<string>, isNoted: () => boolean): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => {
        if (isNoted()) called.add(String(name))
        const result: unknown = Reflect.apply(member, target, args)
        return name === 'audited' ? watchCalls(result as Store, called, isNoted) : result
      }
    },
  })
}
