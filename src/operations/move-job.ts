import { assert, PawlError } from '../domain/errors.ts'
import { invalid, readText, readWord, refuseUnknownKeys } from '../domain/options.ts'
import { isPriority } from '../engine/enqueue.ts'
import type { MoveResult, MoveTarget } from '../store/jobs.ts'
import type { OperationContext } from './context.ts'
import { jobChanged, jobNotFound } from './not-found.ts'

/** Where a Job stands after a move. */
export interface NewPlace {
  readonly priority: number
  readonly position: number
}

export interface MoveOptions {
  /** `jobVersion` of the Job as you saw it: if it has changed since, it stays where it is. */
  readonly version?: string
}

/** Moves a QUEUED Job to the front or the back of its priority, or next to another Job. */
export async function moveJob(
  context: OperationContext,
  jobId: string,
  target: MoveTarget,
  options: MoveOptions = {},
): Promise<NewPlace> {
  readText(jobId, 'jobId')
  checkTarget(target)
  refuseUnknownKeys(options, ['version'], '')
  const expected = options.version === undefined ? null : readText(options.version, 'version')
  const request = { jobId, target, expected, now: context.clock.now() }
  let result = await context.store.moveJob(request)
  if (result.kind === 'no-room') {
    await context.store.normalisePositions(result.priority)
    // Renumbering has given it another version too, so that who named one is told to look again.
    result = await context.store.moveJob(request)
  }
  return placeOf(result, jobId)
}

/** Puts a QUEUED Job last at another priority. */
export async function reprioritiseJob(context: OperationContext, jobId: string, priority: number): Promise<NewPlace> {
  readText(jobId, 'jobId')
  if (!isPriority(priority)) throw invalid('priority', 'a whole number of 32 bits', priority)
  return placeOf(await context.store.reprioritiseJob({ jobId, priority, now: context.clock.now() }), jobId)
}

function checkTarget(target: MoveTarget): void {
  refuseUnknownKeys(target, ['to', 'before', 'after'], 'target')
  if (Object.keys(target).length !== 1) throw invalid('target', 'one of `to`, `before` and `after`', target)
  if ('to' in target) readWord(target.to, ['front', 'back'], 'target.to')
  else if ('before' in target) readText(target.before, 'target.before')
  else readText(target.after, 'target.after')
}

function placeOf(result: MoveResult, jobId: string): NewPlace {
  switch (result.kind) {
    case 'moved':
      return { priority: result.priority, position: result.position }
    case 'not-found':
      throw jobNotFound(jobId)
    case 'not-queued':
      throw new PawlError(
        'job_not_queued',
        `Job ${jobId} is ${result.status}; only a QUEUED job has a place to change.`,
        {
          details: { jobId, status: result.status },
        },
      )
    case 'stale':
      throw jobChanged(jobId)
    case 'target-not-queued':
      throw new PawlError('job_not_queued', `Expected job ${result.jobId} to be QUEUED, to move another next to it.`, {
        details: { jobId: result.jobId },
      })
    case 'no-room':
      return assert(false, 'a normalised queue has no room') as never
  }
}
