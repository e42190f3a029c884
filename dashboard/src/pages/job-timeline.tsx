import type { Chain, Job, ListedRun } from '../api/things.ts'
import { shortId } from '../parts/copy.tsx'
import { Icon } from '../parts/icon.tsx'
import { Badge, lookOf, lookOfJob } from '../parts/state.tsx'
import { Ago, clockTime, durationWords, now } from '../parts/time.tsx'
import { href } from '../route.ts'

const REASONS: Readonly<Record<string, string>> = {
  error: 'its handler threw',
  timeout: 'it took too long',
  crash: 'its process died; recovery ended it',
  shutdown: 'its process was stopped',
  cancelled: 'it was aborted',
  'invalid-params': 'its params were not valid',
  'unserialisable-result': 'its result cannot be stored',
  'result-too-large': 'its result is too large',
}

interface Props {
  readonly chain: Chain
  readonly runs: ReadonlyMap<string, ListedRun>
  readonly currentId: string
}

/** The chain from its first attempt to its last: how long each waited, how long it ran, and what came of it. */
export function JobTimeline({ chain, runs, currentId }: Props) {
  return (
    <ol class="timeline card-body">
      {chain.items.map((job) => (
        <Attempt job={job} run={runs.get(job.job_id)} isHere={job.job_id === currentId} key={job.job_id} />
      ))}
    </ol>
  )
}

function Attempt({ job, run, isHere }: { job: Job; run: ListedRun | undefined; isHere: boolean }) {
  const look = lookOfJob(job)
  const queuedAt = Date.parse(job.queued_at)
  const startedAt = job.started_at === null ? null : Date.parse(job.started_at)
  const endedAt = job.finished_at === null ? null : Date.parse(job.finished_at)
  const waitedMs = Math.max(0, (startedAt ?? endedAt ?? now.value) - queuedAt)
  const ranMs = startedAt === null ? 0 : Math.max(0, (endedAt ?? now.value) - startedAt)
  const whole = Math.max(1, waitedMs + ranMs)
  return (
    <li class={isHere ? 'attempt here' : 'attempt'}>
      <span class={`mark tone-${look.tone}`}>
        <Icon name={look.icon} />
      </span>
      <div class="what">
        <div class="row">
          {isHere ? <span>Attempt {job.attempt}</span> : <a href={href('jobs', job.job_id)}>Attempt {job.attempt}</a>}
          <Badge look={run?.reason === 'crash' ? { ...lookOf('FAILED'), word: 'Crashed' } : look} />
          {isHere && <span class="tag">this job</span>}
          <span class="faint small">
            {clockTime(job.queued_at)} · <Ago at={job.queued_at} />
          </span>
        </div>
        <div
          class="spans"
          role="img"
          aria-label={`Waited ${durationWords(waitedMs)}, ran ${startedAt === null ? 'not' : durationWords(ranMs)}`}
        >
          <div class="span waited" style={{ flexGrow: waitedMs / whole }} />
          {startedAt !== null && (
            <div class={`span ran-${endedAt === null ? 'busy' : look.tone}`} style={{ flexGrow: ranMs / whole }} />
          )}
        </div>
        <div class="small soft">
          waited {durationWords(waitedMs)}
          {startedAt !== null && ` · ran ${durationWords(ranMs)}`}
          {run && ` on ${shortId(run.node)}`}
          {run?.reason && ` · ${REASONS[run.reason] ?? run.reason}`}
          {job.cancel_reason !== null && ` · ${job.cancel_reason}`}
        </div>
        {run?.error && <div class="small tone-bad clip">{run.error}</div>}
      </div>
    </li>
  )
}
