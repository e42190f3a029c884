import { PawlError } from '../domain/errors.ts'

export function jobNotFound(jobId: string): PawlError {
  return new PawlError('job_not_found', `There is no job ${jobId}. It never existed, or it was pruned.`, {
    details: { jobId },
  })
}

export function runNotFound(runId: string): PawlError {
  return new PawlError('run_not_found', `There is no run ${runId}. It never existed, or it was pruned.`, {
    details: { runId },
  })
}

export function groupNotFound(groupId: string): PawlError {
  return new PawlError('group_not_found', `There is no group ${groupId}. It never existed, or it was pruned.`, {
    details: { groupId },
  })
}

export function bulkOperationNotFound(operationId: string): PawlError {
  const message = `There is no operation ${operationId}. It never existed, or it was pruned.`
  return new PawlError('operation_not_found', message, { details: { operationId } })
}

export function jobChanged(jobId: string): PawlError {
  return new PawlError(
    'conflict',
    `Job ${jobId} has changed since you read it, so nothing was changed. Read it again, then decide again.`,
    { path: 'version', details: { jobId } },
  )
}
