import type { Job } from '../../domain/job.ts'
import { wireJob } from '../../domain/wire.ts'
import type { ManualRetry } from '../../operations/retry-job.ts'
import { created, ok } from './answer.ts'
import { jobTag } from './versions.ts'

export function createdJob(job: Job) {
  return created(wireJob(job), `/api/jobs/${job.jobId}`, jobTag(job))
}

/** 201 with a new Job, 200 with the retry that was waiting. */
export function okRetry(kind: ManualRetry['kind'], job: Job) {
  return kind === 'created' ? createdJob(job) : ok(wireJob(job), jobTag(job))
}
