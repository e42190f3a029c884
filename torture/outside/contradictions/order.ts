import type { StoredJob } from '../history.ts'
import type { Facts } from './facts.ts'

/**
 * I8. Whenever a Job was started, no other one stood before it that could have been started in its place. Those others are
 * Jobs that were ready from their first moment on, that no limit holds back, and that every node can execute: first attempts
 * of the type `free` without a delay or parents. Commits of SQLite have an order, so that this is seen across all processes.
 */
export function* claimsFollowedTheOrder({ evidence, jobs, requests, groupOf }: Facts): Iterable<string> {
  const isAlwaysReady = ({ attempt, type, order, runAt, createdAt }: StoredJob) => {
    const request = requests.get(order.n)
    const isHeld = request === undefined || request.parents.length > 0 || groupOf.get(order.n)?.mode === 'sequential'
    return attempt === 1 && type === 'free' && runAt <= createdAt && !isHeld
  }
  const waiting = new Map<string, StoredJob>()
  for (const { queued, started, ended } of evidence.history.commits ?? []) {
    for (const jobId of [...started, ...ended]) waiting.delete(jobId)
    const first = firstOf(waiting.values())
    for (const jobId of started) {
      const job = jobs.get(jobId)
      if (job === undefined || first === null || comesBefore(job, first)) continue
      yield `I8: Job ${jobId} (${job.order.n}) was started before ${first.jobId} (${first.order.n}), which stood before it.`
    }
    for (const jobId of queued) {
      const job = jobs.get(jobId)
      if (job !== undefined && isAlwaysReady(job) && !started.includes(jobId)) waiting.set(jobId, job)
    }
  }
}

function firstOf(jobs: Iterable<StoredJob>): StoredJob | null {
  let first: StoredJob | null = null
  for (const job of jobs) if (first === null || comesBefore(job, first)) first = job
  return first
}

function comesBefore(a: StoredJob, b: StoredJob): boolean {
  if (a.priority !== b.priority) return a.priority > b.priority
  if (a.position !== b.position) return a.position < b.position
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt
  return a.jobId < b.jobId
}
