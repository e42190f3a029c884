import { PawlError } from '../domain/errors.ts'
import type { Job } from '../domain/job.ts'
import { invalid, readText, refuseUnknownKeys } from '../domain/options.ts'
import { isPriority, prepareParams } from '../engine/enqueue.ts'
import type { RegisteredType } from '../engine/job-type.ts'
import type { JobEdit } from '../store/jobs.ts'
import type { OperationContext } from './context.ts'
import { readInstant } from './enqueue-options.ts'
import { jobChanged, jobNotFound } from './not-found.ts'
import { getJob } from './read-history.ts'

/** What of a QUEUED Job may still change. What is left out stays. */
export interface EditOptions {
  /** Puts it last at the new priority. */
  readonly priority?: number
  /** Replaces its params, checked as those of a new Job are. */
  readonly params?: unknown
  /** The instant before which it must not start: a Date, or epoch milliseconds. Null: as soon as it can. */
  readonly runAt?: Date | number | null
  /** `jobVersion` of the Job as you saw it: if it has changed since, nothing is changed. */
  readonly version?: string
}

const CHANGES = ['priority', 'params', 'runAt'] as const

/** Changes a QUEUED Job, all of it or nothing, and returns it as it is afterwards. */
export async function editJob(context: OperationContext, jobId: string, options: EditOptions): Promise<Job> {
  readText(jobId, 'jobId')
  refuseUnknownKeys(options, [...CHANGES, 'version'], '')
  const expected = options.version === undefined ? null : readText(options.version, 'version')
  const edit = await readEdit(context, jobId, options)
  const result = await context.store.editJob({ jobId, edit, expected, now: context.clock.now() })
  switch (result.kind) {
    case 'edited':
      return getJob(context, jobId)
    case 'not-found':
      throw jobNotFound(jobId)
    case 'not-queued':
      throw new PawlError(
        'job_not_queued',
        `Job ${jobId} is ${result.status}; only a QUEUED job can be changed. Enqueue a new one instead.`,
        { details: { jobId, status: result.status } },
      )
    case 'stale':
      throw jobChanged(jobId)
  }
}

async function readEdit(context: OperationContext, jobId: string, options: EditOptions): Promise<JobEdit> {
  const { priority, params, runAt } = options
  if (CHANGES.every((name) => options[name] === undefined)) {
    throw new PawlError('invalid_option', `Expected at least one of ${CHANGES.join(', ')} to change, got none.`)
  }
  if (priority !== undefined && !isPriority(priority)) throw invalid('priority', 'a whole number of 32 bits', priority)
  return {
    ...(priority !== undefined && { priority }),
    ...(runAt !== undefined && { runAt: runAt === null ? null : readInstant(runAt, 'runAt') }),
    ...(params !== undefined && { params: await readParams(context, jobId, params) }),
  }
}

/** The type of a Job never changes, so it may be asked for before the Job is changed. */
async function readParams(context: OperationContext, jobId: string, params: unknown): Promise<string> {
  const { type } = await getJob(context, jobId)
  const { stored } = await prepareParams(type, params, await findHandler(context, type))
  return stored
}

/** Null where this process has none, also for a type that was accepted without being known. */
async function findHandler(context: OperationContext, type: string): Promise<RegisteredType | null> {
  try {
    return (await context.types.get(type)).handler
  } catch (error) {
    if (error instanceof PawlError && error.code === 'unknown_type') return null
    throw error
  }
}
