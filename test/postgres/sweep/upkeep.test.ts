import { bulkOperations } from '../../../torture/sweep/operations/bulk.ts'
import { scheduleOperations } from '../../../torture/sweep/operations/schedules.ts'
import { upkeepOperations } from '../../../torture/sweep/operations/upkeep.ts'
import { webhookOperations } from '../../../torture/sweep/operations/webhooks.ts'
import { sweepAll } from './sweep-all.ts'

sweepAll([...bulkOperations, ...scheduleOperations, ...webhookOperations, ...upkeepOperations])
