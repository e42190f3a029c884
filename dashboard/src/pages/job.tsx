import type { ComponentChildren } from 'preact'
import { ask } from '../api/http.ts'
import type { Job, ListedRun, Run } from '../api/things.ts'
import { type Live, useLive } from '../live/use-live.ts'
import { Copy, shortId } from '../parts/copy.tsx'
import { durationWords } from '../parts/duration-words.ts'
import { CannotLoad, Loading } from '../parts/empty.tsx'
import { Graph } from '../parts/graph.tsx'
import { Icon } from '../parts/icon.tsx'
import { Json, Redacted, Text } from '../parts/json.tsx'
import { Card, PageHead, Stale } from '../parts/listing.tsx'
import { Badge, lookOf, lookOfJob, Tags } from '../parts/state.tsx'
import { Ago, FullTime } from '../parts/time.tsx'
import { Words } from '../parts/words.tsx'
import { href } from '../route.ts'
import { AuditList } from './audit.tsx'
import { JobActions } from './job-actions.tsx'
import { jobName } from './job-columns.tsx'
import { JobLogs } from './job-logs.tsx'
import { JobOutput } from './job-output.tsx'
import { JobTimeline } from './job-timeline.tsx'

/** So many parents, children and earlier attempts are looked up. */
const RELATIVES_MAX = 30
const RUNS_MAX = 20

async function loadJob(id: string, signal: AbortSignal) {
  const params = { job_id: id }
  const [job, chain, why, children, deliveries, audit] = await Promise.all([
    ask('GET /api/jobs/{job_id}', { params, signal }),
    ask('GET /api/jobs/{job_id}/chain', { params, signal }),
    ask('GET /api/jobs/{job_id}/why', { params, signal }),
    ask('GET /api/jobs/{job_id}/children', { params, query: { limit: RELATIVES_MAX } as never, signal }),
    ask('GET /api/webhook-deliveries', { query: { job_id: id, limit: '20' } as never, signal }),
    ask('GET /api/audit', { query: { subject: id, limit: '20' } as never, signal }),
  ])
  const [runs, parents] = await Promise.all([
    Promise.all(
      chain.items
        .slice(-RUNS_MAX)
        .filter((item) => item.started_at !== null)
        .map((item) => ask('GET /api/jobs/{job_id}/runs', { params: { job_id: item.job_id }, signal })),
    ),
    Promise.all(
      job.depends_on
        .slice(0, RELATIVES_MAX)
        .map((parent) => ask('GET /api/jobs/{job_id}', { params: { job_id: parent }, signal }).catch(() => null)),
    ),
  ])
  const byJob = new Map<string, ListedRun>()
  for (const { items } of runs) for (const run of items) byJob.set(run.job_id, run)
  const own = byJob.get(id)
  const run = own ? await ask('GET /api/job-runs/{run_id}', { params: { run_id: own.run_id }, signal }) : null
  return {
    job,
    chain,
    why,
    children: children.items,
    areRelativesCut: children.next_cursor !== null || job.depends_on.length > RELATIVES_MAX,
    deliveries,
    audit,
    runs: byJob,
    run,
    parents: parents.filter((one) => one !== null),
  }
}

type Loaded = Awaited<ReturnType<typeof loadJob>>

export function JobPage({ id }: { id: string }) {
  const live: Live<Loaded> = useLive(id, (signal) => loadJob(id, signal), {
    concerns: (event): boolean =>
      event.job_id === id || event.chain_id === live.data?.job.chain_id || isRelative(live.data, event.job_id),
    everyMs: 5_000,
  })
  const nodes = useLive('node names', (signal) => ask('GET /api/nodes', { query: { limit: '200' } as never, signal }), {
    concerns: () => false,
  })
  const nodeNames = new Map(nodes.data?.items.map((node) => [node.node_id, node.name]))
  const { data, problem } = live
  if (data === null) return problem ? <CannotLoad problem={problem} onRetry={live.reload} /> : <Loading />
  const { job, chain, run } = data
  return (
    <>
      {problem && <Stale />}
      <PageHead
        title={
          <span class="row">
            <span>{jobName(job)}</span>
            <Badge look={lookOfJob(job)} />
          </span>
        }
        sub={
          <span class="row tight">
            <span>{job.job_type}</span> · <span class="mono">{job.job_id}</span>
            <Copy text={job.job_id} what="job id" />
          </span>
        }
      >
        <JobActions job={job} chain={chain} onDone={live.reload} />
      </PageHead>
      <WhyBanner data={data} />
      <div class="split">
        <div class="stack wide">
          {run?.progress && job.status === 'RUNNING' && <Progress run={run} />}
          <Card
            title="Timeline"
            note={chain.settled ? `Settled: ${lookOf(chain.outcome ?? '').word.toLowerCase()}` : 'Not settled'}
          >
            <JobTimeline chain={chain} runs={data.runs} currentId={job.job_id} nodeNames={nodeNames} />
          </Card>
          {run?.error && <ErrorCard run={run} />}
          <div class="cards even">
            <Card title="Params">
              <div class="card-body">
                <Json value={job.params} what="params" redacted={isRedacted(job)} />
              </div>
            </Card>
            <Card title="Result">
              <div class="card-body">
                {run === null || run.status !== 'COMPLETED' ? (
                  <span class="faint">None{job.status === 'RUNNING' ? ' yet' : ''}.</span>
                ) : (
                  <Json value={run.result} what="result" redacted={isRedacted(run)} />
                )}
              </div>
            </Card>
          </div>
          {(data.parents.length > 0 || data.children.length > 0) && (
            <Card
              title="Depends on, and what depends on it"
              note={data.areRelativesCut ? `the first ${RELATIVES_MAX} of each are shown` : undefined}
            >
              <Graph
                boxes={[...data.parents, job, ...data.children].map((one) => ({
                  id: one.chain_id,
                  title: jobName(one),
                  under: shortId(one.job_id),
                  look: lookOfJob(one),
                  href: href('jobs', one.job_id),
                  isHere: one === job,
                }))}
                edges={[
                  ...data.parents.map((parent) => [parent.chain_id, job.chain_id] as const),
                  ...data.children.map((child) => [job.chain_id, child.chain_id] as const),
                ]}
              />
            </Card>
          )}
          {run !== null && run.log_path !== null && (
            <JobOutput jobId={job.job_id} isRunning={job.status === 'RUNNING'} />
          )}
          <JobLogs jobId={job.job_id} isRunning={job.status === 'RUNNING'} />
        </div>
        <div class="stack wide">
          <Facts job={job} run={run} nodeNames={nodeNames} />
          {run && run.artifacts.length > 0 && (
            <Card title="Artifacts">
              <ul class="card-body stack tight">
                {run.artifacts.map((path) => (
                  <li class="row keep" key={path}>
                    <span class="mono grow">{path}</span>
                    <Copy text={path} what="path" />
                  </li>
                ))}
              </ul>
            </Card>
          )}
          <Card title="Webhook deliveries">
            {data.deliveries.items.length === 0 ? (
              <div class="card-body faint">None.</div>
            ) : (
              <ul class="card-body stack tight">
                {data.deliveries.items.map((delivery) => (
                  <li class="row spread" key={delivery.delivery_id}>
                    {delivery.webhook_id === null ? (
                      <span>{delivery.event}</span>
                    ) : (
                      <a href={href('webhooks', delivery.webhook_id)}>{delivery.event}</a>
                    )}
                    <Badge look={lookOf(delivery.status)} />
                  </li>
                ))}
              </ul>
            )}
          </Card>
          <Card title="Audit">
            {data.audit.items.length === 0 ? (
              <div class="card-body faint">Nobody has changed it.</div>
            ) : (
              <AuditList entries={data.audit.items} />
            )}
          </Card>
        </div>
      </div>
    </>
  )
}

function isRelative(data: Loaded | null, jobId: string): boolean {
  return data !== null && [...data.parents, ...data.children].some((one) => one.job_id === jobId)
}

function isRedacted(thing: object): boolean {
  return 'redacted' in thing && thing.redacted === true
}

/** Why it is not running, where it runs, or how it ended: in words, before everything else. */
function WhyBanner({ data: { job, why } }: { data: Loaded }) {
  const look = lookOfJob(job)
  const [first = why.summary, ...others] = why.reasons.map(({ message }) => message)
  return (
    <div class={`banner ${look.tone}`} data-why>
      <Icon name={look.icon} />
      <div class="stack tight">
        <div class="big">
          <Words text={first} />
        </div>
        {others.length > 0 && (
          <ul class="reasons soft">
            {others.map((message) => (
              <li key={message}>
                <Words text={message} />
              </li>
            ))}
          </ul>
        )}
        {why.queue_rank_text !== null && <div class="soft">Place in the queue: {why.queue_rank_text}</div>}
      </div>
    </div>
  )
}

function Progress({ run }: { run: Run }) {
  const { fraction, message } = run.progress ?? { fraction: 0, message: null }
  const percent = Math.round(fraction * 100)
  return (
    <Card label="Progress">
      <div class="card-body stack tight">
        <div class="row spread">
          <span>{message ?? 'Progress'}</span>
          <strong>{percent} %</strong>
        </div>
        <div
          class="bar-track"
          role="progressbar"
          aria-label="Progress"
          aria-valuenow={percent}
          aria-valuemin={0}
          aria-valuemax={100}
        >
          <div class="bar-fill" style={{ width: `${percent}%` }} />
        </div>
      </div>
    </Card>
  )
}

function ErrorCard({ run }: { run: Run }) {
  return (
    <Card title="Error" note={run.reason}>
      <div class="card-body stack">
        {isRedacted(run) ? (
          <Redacted what="Hidden: your key may not see errors" />
        ) : (
          <>
            <Text value={run.error ?? ''} what="error" />
            {run.stack && (
              <details>
                <summary>Stack</summary>
                <Text value={run.stack} what="stack" />
              </details>
            )}
          </>
        )}
      </div>
    </Card>
  )
}

function countOf(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}

function Facts({ job, run, nodeNames }: { job: Job; run: Run | null; nodeNames: ReadonlyMap<string, string> }) {
  const { backoff, max_retries: retries, max_crash_retries: crashes } = job.retry_policy
  const rows: [string, ComponentChildren][] = [
    ['Priority', `${job.priority}, position ${job.position}`],
    [
      'Attempt',
      `${job.attempt} (${countOf(job.error_retries, 'retry', 'retries')} after errors, ${job.crash_retries} after crashes)`,
    ],
    ['Retries', `${retries} after errors, ${crashes} after crashes, ${backoff.kind}`],
    ['Timeout', job.timeout_ms === null ? 'none' : durationWords(job.timeout_ms)],
    ['Accepted', <FullTime at={job.created_at} />],
    ...(job.hold === 'delayed' ? [['Due', <FullTime at={job.run_at} />] as [string, ComponentChildren]] : []),
    ['Started', <FullTime at={job.started_at} />],
    ['Ended', <FullTime at={job.finished_at} />],
    [
      'Node',
      run === null ? (
        '–'
      ) : (
        <span class="mono" title={run.node}>
          {nodeNames.get(run.node) ?? shortId(run.node)}
        </span>
      ),
    ],
    ['By', job.created_by ?? '–'],
  ]
  if (run?.exit_code != null) rows.push(['Exit code', run.exit_code])
  if (job.resources.length > 0) rows.push(['Resources', job.resources.join(', ')])
  if (job.tags.length > 0) rows.push(['Tags', <Tags tags={job.tags} />])
  if (job.template_id) rows.push(['Template', <a href={href('templates')}>{shortId(job.template_id)}</a>])
  if (job.schedule_id)
    rows.push(['Schedule', <a href={href('schedules', job.schedule_id)}>{shortId(job.schedule_id)}</a>])
  if (job.slot_at) rows.push(['Slot', <FullTime at={job.slot_at} />])
  if (job.group_id) rows.push(['Group', <a href={href('groups', job.group_id)}>{shortId(job.group_id)}</a>])
  if (job.business_key) rows.push(['Business key', <span class="mono">{job.business_key}</span>])
  if (job.idempotency_key) rows.push(['Idempotency key', <span class="mono">{job.idempotency_key}</span>])
  if (job.cancel_requested_at) rows.push(['Cancel asked', <Ago at={job.cancel_requested_at} />])
  return (
    <Card title="Facts">
      <dl class="facts card-body">
        {rows.map(([name, value]) => (
          <>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </>
        ))}
      </dl>
    </Card>
  )
}
