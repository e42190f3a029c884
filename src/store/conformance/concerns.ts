import { testBackup } from './backup.ts'
import { testCancel } from './cancel.ts'
import { testClaim } from './claim.ts'
import { testClose } from './close.ts'
import { testDamage } from './damage.ts'
import { testEnqueue } from './enqueue.ts'
import { testEnqueueWithin } from './enqueue-within.ts'
import { testEvents } from './events.ts'
import { testFinish } from './finish.ts'
import { testFinishFence } from './finish-fence.ts'
import { testFollowUps } from './follow-ups.ts'
import { testHistory } from './history.ts'
import { testBusinessKeys, testIdempotencyKeys } from './keys.ts'
import type { Kit } from './kit.ts'
import { testLimits } from './limits.ts'
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
import { testSubscribe } from './subscribe.ts'
import { testTransitions } from './transitions.ts'
import { testStoredTypesAndLimits } from './types-and-limits.ts'

/** The contract, in the order of a Job's life. The titles are the first half of a test's full name. */
export const concerns: readonly { readonly title: string; readonly register: (kit: Kit) => void }[] = [
  { title: 'enqueue', register: testEnqueue },
  { title: 'enqueue within', register: testEnqueueWithin },
  { title: 'idempotency keys', register: testIdempotencyKeys },
  { title: 'business keys', register: testBusinessKeys },
  { title: 'order', register: testOrder },
  { title: 'move', register: testMove },
  { title: 'claim', register: testClaim },
  { title: 'limits', register: testLimits },
  { title: 'reports', register: testReports },
  { title: 'finish', register: testFinish },
  { title: 'finish fence', register: testFinishFence },
  { title: 'retry', register: testRetry },
  { title: 'follow-ups', register: testFollowUps },
  { title: 'occupancy', register: testOccupancy },
  { title: 'cancel', register: testCancel },
  { title: 'manual retry', register: testManualRetry },
  { title: 'transitions', register: testTransitions },
  { title: 'nodes', register: testNodes },
  { title: 'liveness', register: testLiveness },
  { title: 'recovery', register: testRecovery },
  { title: 'damage', register: testDamage },
  { title: 'events', register: testEvents },
  { title: 'subscribe', register: testSubscribe },
  { title: 'history', register: testHistory },
  { title: 'lists', register: testLists },
  { title: 'prune', register: testPrune },
  { title: 'types and limits', register: testStoredTypesAndLimits },
  { title: 'backup', register: testBackup },
  { title: 'close', register: testClose },
  { title: 'races', register: testRaces },
]
