import { testApiKeys } from './api-keys.ts'
import { testAudit } from './audit.ts'
import { testBackup } from './backup.ts'
import { testBulkMatches } from './bulk-matches.ts'
import { testBulkOperations } from './bulk-operations.ts'
import { testCancel } from './cancel.ts'
import { testCascades } from './cascades.ts'
import { testChecks } from './checks.ts'
import { testClaim } from './claim.ts'
import { testClose } from './close.ts'
import { testDamage } from './damage.ts'
import { testDeliveries } from './deliveries.ts'
import { testDeliveryLeases } from './delivery-leases.ts'
import { testDependencies } from './dependencies.ts'
import { testDependents } from './dependents.ts'
import { testDirectRuns } from './direct-runs.ts'
import { testEdit } from './edit.ts'
import { testEnqueue } from './enqueue.ts'
import { testEnqueueWithin } from './enqueue-within.ts'
import { testEvents } from './events.ts'
import { testFinish } from './finish.ts'
import { testFinishFence } from './finish-fence.ts'
import { testFollowUps } from './follow-ups.ts'
import { testGroupCancel } from './group-cancel.ts'
import { testGroupCascades } from './group-cascades.ts'
import { testGroupFailures } from './group-failures.ts'
import { testGroups } from './groups.ts'
import { testHistory } from './history.ts'
import { testBusinessKeys, testIdempotencyKeys } from './keys.ts'
import type { Kit } from './kit.ts'
import { testLimits } from './limits.ts'
import { testListFilters } from './list-filters.ts'
import { testLists } from './lists.ts'
import { testLiveness } from './liveness.ts'
import { testManualRetry } from './manual-retry.ts'
import { testMove } from './move.ts'
import { testNodes } from './nodes.ts'
import { testOccupancy } from './occupancy.ts'
import { testOrder } from './order.ts'
import { testPrune } from './prune.ts'
import { testRaces } from './races.ts'
import { testRecovery } from './recovery.ts'
import { testReports } from './reports.ts'
import { testRetry } from './retry.ts'
import { testSchedules } from './schedules.ts'
import { testSearches } from './searches.ts'
import { testServingTickets } from './serving-tickets.ts'
import { testSlots } from './slots.ts'
import { testStanding } from './standing.ts'
import { testStatistics } from './statistics.ts'
import { testSubscribe } from './subscribe.ts'
import { testTemplates } from './templates.ts'
import { testTickets } from './tickets.ts'
import { testTransitions } from './transitions.ts'
import { testStoredTypesAndLimits } from './types-and-limits.ts'
import { testWaitingJobs } from './waiting-jobs.ts'
import { testWebhooks } from './webhooks.ts'

/** The contract, in the order of a Job's life. The titles are the first half of a test's full name. */
export const concerns: readonly { readonly title: string; readonly register: (kit: Kit) => void }[] = [
  { title: 'enqueue', register: testEnqueue },
  { title: 'enqueue within', register: testEnqueueWithin },
  { title: 'idempotency keys', register: testIdempotencyKeys },
  { title: 'business keys', register: testBusinessKeys },
  { title: 'templates', register: testTemplates },
  { title: 'schedules', register: testSchedules },
  { title: 'slots', register: testSlots },
  { title: 'order', register: testOrder },
  { title: 'move', register: testMove },
  { title: 'edit', register: testEdit },
  { title: 'claim', register: testClaim },
  { title: 'limits', register: testLimits },
  { title: 'tickets', register: testTickets },
  { title: 'serving tickets', register: testServingTickets },
  { title: 'direct runs', register: testDirectRuns },
  { title: 'reports', register: testReports },
  { title: 'finish', register: testFinish },
  { title: 'finish fence', register: testFinishFence },
  { title: 'retry', register: testRetry },
  { title: 'follow-ups', register: testFollowUps },
  { title: 'occupancy', register: testOccupancy },
  { title: 'cancel', register: testCancel },
  { title: 'manual retry', register: testManualRetry },
  { title: 'dependencies', register: testDependencies },
  { title: 'waiting Jobs', register: testWaitingJobs },
  { title: 'dependents', register: testDependents },
  { title: 'groups', register: testGroups },
  { title: 'group failures', register: testGroupFailures },
  { title: 'group cancel', register: testGroupCancel },
  { title: 'cascades', register: testCascades },
  { title: 'group cascades', register: testGroupCascades },
  { title: 'bulk operations', register: testBulkOperations },
  { title: 'bulk matches', register: testBulkMatches },
  { title: 'webhooks', register: testWebhooks },
  { title: 'deliveries', register: testDeliveries },
  { title: 'delivery leases', register: testDeliveryLeases },
  { title: 'transitions', register: testTransitions },
  { title: 'nodes', register: testNodes },
  { title: 'liveness', register: testLiveness },
  { title: 'recovery', register: testRecovery },
  { title: 'damage', register: testDamage },
  { title: 'checks', register: testChecks },
  { title: 'events', register: testEvents },
  { title: 'subscribe', register: testSubscribe },
  { title: 'history', register: testHistory },
  { title: 'standing', register: testStanding },
  { title: 'lists', register: testLists },
  { title: 'list filters', register: testListFilters },
  { title: 'searches', register: testSearches },
  { title: 'statistics', register: testStatistics },
  { title: 'prune', register: testPrune },
  { title: 'types and limits', register: testStoredTypesAndLimits },
  { title: 'API keys', register: testApiKeys },
  { title: 'audit', register: testAudit },
  { title: 'backup', register: testBackup },
  { title: 'close', register: testClose },
  { title: 'races', register: testRaces },
]
