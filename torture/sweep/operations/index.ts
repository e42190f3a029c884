import type { Operation } from '../stage.ts'
import { bulkOperations } from './bulk.ts'
import { compositionOperations } from './composition.ts'
import { directOperations } from './direct.ts'
import { doorOperations } from './doors.ts'
import { jobOperations } from './jobs.ts'
import { runOperations } from './runs.ts'
import { scheduleOperations } from './schedules.ts'
import { upkeepOperations } from './upkeep.ts'
import { webhookOperations } from './webhooks.ts'

/** All that a store can be asked to do in one transaction, each brought to where it has most to do. */
export const OPERATIONS: readonly Operation[] = [
  ...jobOperations,
  ...runOperations,
  ...compositionOperations,
  ...bulkOperations,
  ...directOperations,
  ...scheduleOperations,
  ...webhookOperations,
  ...doorOperations,
  ...upkeepOperations,
]
