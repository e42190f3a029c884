import { CascadeRunner } from '../engine/cascade-runner.ts'
import type { NodePart } from '../engine/node-part.ts'
import { ScheduleTrigger } from '../engine/schedule-trigger.ts'
import { WebhookSender } from '../engine/webhook-sender.ts'
import type { OperationContext } from '../operations/context.ts'
import type { CheckedOptions } from './scheduler-options.ts'

/** What a node does besides executing: it fires slots, carries out cascades, and tells the world. */
export function composeBackground(context: OperationContext, options: CheckedOptions, nodeId: string): NodePart[] {
  const { store, clock, newId, types } = context
  const { logger, webhookPoster: poster } = options
  return [
    new ScheduleTrigger({ store, clock, logger, newId, types }),
    new CascadeRunner({ store, clock, logger, newId, nodeId }),
    new WebhookSender({ store, clock, logger, nodeId, poster }),
  ]
}
