import { readText } from '../domain/options.ts'
import type { Standing } from '../domain/standing.ts'
import { decideWhy, type Why } from '../domain/why.ts'
import type { Liveness } from '../store/nodes.ts'
import type { Store } from '../store/store.ts'
import type { OperationContext } from './context.ts'
import { jobNotFound } from './not-found.ts'

/** Why a Job is not running, or where it runs, or how and why it ended. */
export async function explainJob(
  context: OperationContext,
  jobId: string,
  { hideTexts }: { readonly hideTexts?: ((text: string) => string) | undefined } = {},
): Promise<Why> {
  const { store, clock } = context
  const now = clock.now()
  const found = await store.findStanding(readText(jobId, 'jobId'), now)
  if (found === null) throw jobNotFound(jobId)
  const standing = hideTexts === undefined ? found : withTextsHidden(found, hideTexts)
  const dead = await findDead(store.liveness, nodesOf(standing))
  // Where nobody is dead, nobody has to recover anything.
  const isAnyNodeAlive = dead.size === 0 || (await findsLiving(store))
  return decideWhy(standing, { now, dead, isAnyNodeAlive })
}

/** The nodes on which the answer depends: no more than are listed. */
function nodesOf(standing: Standing): ReadonlySet<string> {
  switch (standing.kind) {
    case 'queued': {
      const { nodes, limits, predecessor } = standing
      const holders = [...limits.flatMap((limit) => limit.holders), ...(predecessor === null ? [] : [predecessor])]
      return new Set([...nodes, ...holders].map(({ nodeId }) => nodeId))
    }
    case 'running':
      return new Set(standing.run === null ? [] : [standing.run.nodeId])
    case 'ended':
      return new Set(standing.body === null ? [] : [standing.body.nodeId])
  }
}

/** A node that died a moment ago still has its row, until somebody recovers what it left. */
async function findDead(liveness: Liveness, nodeIds: ReadonlySet<string>): Promise<ReadonlySet<string>> {
  const dead = new Set<string>()
  for (const nodeId of nodeIds) if (!(await liveness.isAlive(nodeId))) dead.add(nodeId)
  return dead
}

async function findsLiving(store: Pick<Store, 'listNodes' | 'liveness'>): Promise<boolean> {
  for (const { nodeId } of await store.listNodes()) if (await store.liveness.isAlive(nodeId)) return true
  return false
}

/** For whom may not read what a Job said of itself. */
function withTextsHidden(standing: Standing, hide: (text: string) => string): Standing {
  if (standing.kind === 'queued' || standing.run === null) return standing
  const { error, progress } = standing.run
  const message = progress === null || progress.message === null ? null : hide(progress.message)
  const run = {
    ...standing.run,
    error: error === null ? null : hide(error),
    progress: progress === null ? null : { ...progress, message },
  }
  return { ...standing, run }
}
