import { type AnyJobType, defineJob, type JobContext, NonRetryableError } from 'pawl'
import { followUpOf, type Order } from './acts.ts'

/** What is told of bodies, and by which clock they take their time. */
export interface BodyWitness {
  began(jobId: string, runId: string): void
  asked(orders: readonly Order[]): void
  wait(ms: number, signal: AbortSignal): Promise<void>
}

export const RESOURCES = { press: 1 }

/** The types of which Jobs are asked for. Their bodies do what their orders say. */
export function jobTypes(witness: BodyWitness): AnyJobType[] {
  const retry = { maxRetries: 2, backoff: { kind: 'fixed', delayMs: 300 } } as const
  const run = (context: JobContext<unknown>) => execute(context, witness)
  return [
    defineJob({ type: 'plain', retry, run }),
    defineJob({ type: 'told', retry, run }),
    defineJob({ type: 'limited', retry, resources: ['press'], run }),
  ]
}

async function execute(context: JobContext<unknown>, witness: BodyWitness) {
  const order = context.params as Order
  witness.began(context.jobId, context.runId)
  if (order.ms !== undefined) await witness.wait(order.ms, context.signal)
  switch (order.does) {
    case 'completes':
      return { n: order.n, attempt: context.attempt }
    case 'falters':
      if (context.attempt === 1) throw new Error('not yet')
      return { n: order.n, attempt: context.attempt }
    case 'fails':
      throw new Error('never')
    case 'refuses':
      throw new NonRetryableError('no')
    case 'skips':
      return context.skip('nothing to do')
    case 'spawns': {
      const follow: Order = { n: followUpOf(order.n), does: 'completes' }
      witness.asked([follow])
      await context.enqueue('plain', follow)
      return { n: order.n, attempt: context.attempt }
    }
  }
}
