import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { ask } from '../api/http.ts'
import { listJobs } from '../api/list-jobs.ts'
import type { Failures, Job, ListedRun } from '../api/things.ts'
import { useLive } from '../live/use-live.ts'
import { Chart } from '../parts/chart.tsx'
import { durationWords } from '../parts/duration-words.ts'
import { CannotLoad, Loading, NothingYet } from '../parts/empty.tsx'
import { Icon } from '../parts/icon.tsx'
import { Card, PageHead, Stale } from '../parts/listing.tsx'
import { Ago, now, Took } from '../parts/time.tsx'
import { href, hrefWith } from '../route.ts'
import { jobName } from './job-columns.tsx'
import { NodeRows } from './nodes.tsx'
import { countWords, decideHealth } from './overview-health.ts'

const RUNNING_SHOWN = 8

/** What changes with every job: asked for apart from the rest, so that it is there at once. */
async function loadQueue(signal: AbortSignal) {
  const [statistics, running] = await Promise.all([
    ask('GET /api/statistics', { signal }),
    listJobs({ status: 'RUNNING', limit: RUNNING_SHOWN }, signal),
  ])
  const runs = await Promise.all(
    running.items.map((job) =>
      ask('GET /api/jobs/{job_id}/runs', { params: { job_id: job.job_id }, signal }).then(({ items }) => items[0]),
    ),
  )
  return { statistics, running: running.items, runs }
}

async function loadRest(signal: AbortSignal) {
  const page = { limit: '200' } as never
  const [recent, schedules, nodes, failures] = await Promise.all([
    ask('GET /api/statistics/recent', { signal }),
    ask('GET /api/schedules', { query: page, signal }),
    ask('GET /api/nodes', { query: page, signal }),
    ask('GET /api/failures', { query: { limit: '8' } as never, signal }),
  ])
  return { recent, schedules: schedules.items, nodes: nodes.items, failures }
}

type Seen = Awaited<ReturnType<typeof loadQueue>> & Awaited<ReturnType<typeof loadRest>>

export function OverviewPage() {
  const queue = useLive('overview: queue', loadQueue, { concerns: () => true, everyMs: 5_000 })
  const rest = useLive('overview: rest', loadRest, { everyMs: 5_000 })
  const problem = queue.problem ?? rest.problem
  const data = queue.data && rest.data && { ...queue.data, ...rest.data }
  const reload = () => {
    queue.reload()
    rest.reload()
  }
  return (
    <>
      <PageHead title="Overview" />
      {data === null && (problem ? <CannotLoad problem={problem} onRetry={reload} /> : <Loading />)}
      {data !== null && (
        <>
          {problem && <Stale />}
          <HealthSentence data={data} />
          <Figures data={data} />
          <Throughput data={data} />
          <div class="cards">
            <Running jobs={data.running} runs={data.runs} />
            <RecentFailures failures={data.failures} />
          </div>
          <Card title="Nodes" note={<a href={href('nodes')}>All nodes</a>}>
            <NodeRows nodes={data.nodes} />
          </Card>
        </>
      )}
    </>
  )
}

function HealthSentence({ data }: { data: Seen }) {
  const health = decideHealth({ ...data, nowMs: now.value })
  return (
    <div class={`banner ${health.tone}`} role="status" data-health={health.tone}>
      <Icon name={health.tone === 'good' ? 'check' : 'warn'} />
      <div class="big">{health.sentence}</div>
    </div>
  )
}

function Figures({ data: { statistics, recent } }: { data: Seen }) {
  const { queue } = statistics
  const { times } = recent
  const hour = recent.minutes.reduce(
    (sum, minute) => ({ executed: sum.executed + minute.executed, failed: sum.failed + minute.failed }),
    { executed: 0, failed: 0 },
  )
  const share = hour.executed === 0 ? 0 : (100 * hour.failed) / hour.executed
  return (
    <dl class="figures">
      <Figure
        name="Queued"
        to={hrefWith(['jobs'], { tab: 'queued' })}
        under={`${countWords(queue.ready, queue.counted_to)} ready`}
      >
        {countWords(queue.queued, queue.counted_to).replace(' or more', '+')}
      </Figure>
      <Figure
        name="Running"
        to={hrefWith(['jobs'], { tab: 'running' })}
        under={
          queue.running_directs + queue.waiting_tickets > 0
            ? `${queue.running_directs} direct, ${queue.waiting_tickets} tickets wait`
            : 'jobs'
        }
      >
        {countWords(queue.running, queue.counted_to).replace(' or more', '+')}
      </Figure>
      <Figure name="Ran in the last hour" under={`${hour.failed.toLocaleString('en')} failed`}>
        {hour.executed.toLocaleString('en')}
      </Figure>
      <Figure name="Failures" to={hrefWith(['jobs'], { tab: 'failed' })} under="of the last hour's runs">
        {share.toFixed(share > 0 && share < 10 ? 1 : 0)} <small>%</small>
      </Figure>
      <Figure
        name="Wait, p50"
        under={times.wait_ms === null ? 'no runs yet' : `p95 ${durationWords(times.wait_ms.p95)}`}
      >
        {times.wait_ms === null ? '–' : durationWords(times.wait_ms.p50)}
      </Figure>
      <Figure
        name="Run time, p50"
        under={times.run_ms === null ? 'no runs yet' : `p95 ${durationWords(times.run_ms.p95)}`}
      >
        {times.run_ms === null ? '–' : durationWords(times.run_ms.p50)}
      </Figure>
    </dl>
  )
}

function Figure(props: { name: string; to?: string; under: string; children: ComponentChildren }) {
  const { name, to, under, children } = props
  return (
    <div class="figure">
      <dt>{to ? <a href={to}>{name}</a> : name}</dt>
      <dd>{children}</dd>
      <dd class="under">{under}</dd>
    </div>
  )
}

function Throughput({ data: { statistics, recent } }: { data: Seen }) {
  const [span, setSpan] = useState<'hour' | 'day'>('hour')
  const points =
    span === 'hour'
      ? recent.minutes.map((minute) => ({ at: minute.minute_at, ...minute }))
      : statistics.hours.map((hour) => ({ at: hour.hour_at, ...hour }))
  const total = points.reduce((sum, { executed }) => sum + executed, 0)
  const failed = points.reduce((sum, point) => sum + point.failed, 0)
  return (
    <Card
      title="Throughput and failures"
      note={
        <span class="row">
          <span class="legend">
            <span class="key good">completed</span>
            <span class="key bad">failed</span>
            <span class="key">skipped</span>
          </span>
          <span class="choice" role="group" aria-label="How far back">
            {(['hour', 'day'] as const).map((one) => (
              <button
                type="button"
                class="button slim"
                aria-pressed={span === one}
                onClick={() => setSpan(one)}
                key={one}
              >
                {one === 'hour' ? 'Hour' : 'Day'}
              </button>
            ))}
          </span>
        </span>
      }
    >
      <div class="card-body">
        <Chart
          label={`Runs of the last ${span}, by the ${span === 'hour' ? 'minute' : 'hour'}: ${total} in all, ${failed} failed`}
          times={points.map(({ at }) => Date.parse(at) / 1_000)}
          series={[
            { label: 'failed', colour: '--bad-mark', values: points.map((point) => point.failed) },
            { label: 'skipped', colour: '--none-mark', values: points.map((point) => point.skipped) },
            { label: 'completed', colour: '--good-mark', values: points.map((point) => point.completed) },
          ]}
        />
      </div>
    </Card>
  )
}

function Running({ jobs, runs }: { jobs: readonly Job[]; runs: readonly (ListedRun | undefined)[] }) {
  return (
    <Card title="Running" note={<a href={hrefWith(['jobs'], { tab: 'running' })}>All running</a>}>
      {jobs.length === 0 ? (
        <div class="card-body faint">Nothing runs now.</div>
      ) : (
        <ul class="run-list">
          {jobs.map((job, index) => {
            const progress = runs[index]?.progress ?? null
            const percent = progress === null ? null : Math.round(progress.fraction * 100)
            return (
              <li key={job.job_id}>
                <span class="main-cell">
                  <a class="clip" href={href('jobs', job.job_id)}>
                    {jobName(job)}
                  </a>
                  <span class="under clip">{progress?.message ?? job.job_type}</span>
                </span>
                <span class="bar-cell">
                  {percent !== null && (
                    <div
                      class="bar-track"
                      role="progressbar"
                      aria-label={`Progress of ${jobName(job)}`}
                      aria-valuenow={percent}
                      aria-valuemin={0}
                      aria-valuemax={100}
                    >
                      <div class="bar-fill" style={{ width: `${percent}%` }} />
                    </div>
                  )}
                </span>
                <span class="num">
                  <Took from={job.started_at} to={null} />
                </span>
              </li>
            )
          })}
        </ul>
      )}
    </Card>
  )
}

/** Long enough to tell errors apart, short enough for an address. */
const ERROR_PART_MAX = 80

/** The longest part of a message without numbers: they differ from one failure of a kind to the next. */
function steadyPart(message: string): string {
  const parts = (message.split('\n')[0] ?? '').split(/\S*\d\S*/)
  const longest = parts.map((part) => part.trim()).toSorted((a, b) => b.length - a.length)[0] ?? ''
  return longest.slice(0, ERROR_PART_MAX)
}

/** How many there were, and the way to all of them, where they can be retried together. */
function SameFailures({ failure }: { failure: Failures['items'][number] }) {
  const words = `× ${failure.count.toLocaleString('en')}`
  const error = steadyPart(failure.message)
  if ('redacted' in failure || error === '') return <strong class="num tone-bad">{words}</strong>
  return (
    <a
      class="num tone-bad"
      href={hrefWith(['jobs'], { tab: 'failed', type: failure.job_type, error })}
      title="Jobs that failed with such an error"
    >
      {words}
    </a>
  )
}

function RecentFailures({ failures }: { failures: Failures }) {
  return (
    <Card
      title="Recent failures"
      note={failures.limited ? `of the latest ${failures.looked_at.toLocaleString('en')} runs` : undefined}
    >
      {failures.items.length === 0 ? (
        <NothingYet title="No failures">
          {failures.limited ? 'None in the latest runs.' : 'Nothing has failed.'}
        </NothingYet>
      ) : (
        <ul class="run-list">
          {failures.items.map((failure) => (
            <li key={failure.fingerprint} class="failure">
              <span class="main-cell">
                <a class="clip" href={href('jobs', failure.example_job_id)} title={failure.message}>
                  {failure.message}
                </a>
                <span class="under clip">
                  {failure.job_type} · {failure.reason} · first <Ago at={failure.first_seen_at} />
                </span>
              </span>
              <span class="bar-cell num faint">
                last <Ago at={failure.last_seen_at} />
              </span>
              <SameFailures failure={failure} />
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}
