import { useState } from 'preact/hooks'
import { ask } from '../api/http.ts'
import { listJobs } from '../api/list-jobs.ts'
import { mayOperate } from '../api/session.ts'
import type { Group, Job } from '../api/things.ts'
import { useLive } from '../live/use-live.ts'
import { shortId } from '../parts/copy.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { CannotLoad, Loading, NothingYet } from '../parts/empty.tsx'
import { ChoiceField, TextField } from '../parts/field.tsx'
import { type Edge, Graph } from '../parts/graph.tsx'
import { Icon } from '../parts/icon.tsx'
import { Card, Listing, PageHead, Stale } from '../parts/listing.tsx'
import { Badge, lookOf, lookOfJob, type Tone } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { Ago, FullTime, Took } from '../parts/time.tsx'
import { say } from '../parts/toast.tsx'
import { href, hrefWith, queryOf } from '../route.ts'
import { JOB_COLUMNS, jobName } from './job-columns.tsx'

const PARTS: readonly (readonly [keyof Group['counts'], Tone])[] = [
  ['completed', 'good'],
  ['failed', 'bad'],
  ['skipped', 'none'],
  ['cancelled', 'none'],
  ['running', 'busy'],
  ['queued', 'wait'],
]

function nameOf(group: Group): string {
  return group.name ?? `Group ${shortId(group.group_id)}`
}

/** The counts as one bar, told in words too. */
function Counts({ group }: { group: Group }) {
  const parts = PARTS.filter(([name]) => group.counts[name] > 0)
  const words = parts.map(([name]) => `${group.counts[name].toLocaleString('en')} ${name}`).join(', ')
  return (
    <span class="main-cell grow">
      <span class="stacked" role="img" aria-label={words}>
        {parts.map(([name, tone]) => (
          <i class={tone} style={{ flexGrow: group.counts[name] }} key={name} />
        ))}
      </span>
      <span class="under">{words}</span>
    </span>
  )
}

export function GroupsPage() {
  const cursor = queryOf('cursor')
  const groups = useLive(`groups ${cursor}`, (signal) =>
    ask('GET /api/job-groups', { query: { limit: '50', ...(cursor && { cursor }) } as never, signal }),
  )
  return (
    <>
      <PageHead title="Groups" sub="Jobs that belong together" />
      <div class="card">
        <Listing
          live={groups}
          empty={
            <NothingYet
              title="No groups yet"
              command={`echo '[{"type":"<type>"}]' | pawl groups create my-group --file -`}
            >
              A group is a batch of jobs, in parallel or one after the other.
            </NothingYet>
          }
        >
          {(items) => (
            <Table
              label="Groups"
              rows={items}
              keyOf={(group) => group.group_id}
              nameOf={nameOf}
              hrefOf={(group) => href('groups', group.group_id)}
              columns={[
                {
                  key: 'name',
                  head: 'Group',
                  class: 'lead',
                  cell: (group) => (
                    <span class="main-cell">
                      <a class="clip" href={href('groups', group.group_id)}>
                        {nameOf(group)}
                      </a>
                      <span class="under">
                        {group.mode} · on failure {group.on_failure}
                      </span>
                    </span>
                  ),
                },
                {
                  key: 'state',
                  head: 'State',
                  class: 'side-cell',
                  cell: (group) => <Badge look={lookOf(group.status)} />,
                },
                { key: 'counts', head: 'Jobs', cell: (group) => <Counts group={group} /> },
                { key: 'total', head: 'Total', class: 'num', cell: (group) => group.counts.total.toLocaleString('en') },
                { key: 'created', head: 'Accepted', class: 'num', cell: (group) => <Ago at={group.created_at} /> },
                {
                  key: 'took',
                  head: 'Took',
                  class: 'num',
                  cell: (group) => <Took from={group.started_at} to={group.finished_at} />,
                },
              ]}
            />
          )}
        </Listing>
      </div>
    </>
  )
}

/** The graph shows so many; the list leads to all. */
const MEMBERS_SHOWN = 100

async function loadGroup(id: string, signal: AbortSignal) {
  const [group, jobs] = await Promise.all([
    ask('GET /api/job-groups/{group_id}', { params: { group_id: id }, signal }),
    listJobs({ group_id: id, limit: MEMBERS_SHOWN }, signal),
  ])
  return { group, jobs: jobs.items, isMore: jobs.next_cursor !== null }
}

/** One box for each chain, its latest attempt; an edge for each dependency among them. */
function membersOf(jobs: readonly Job[]): { readonly latest: readonly Job[]; readonly edges: readonly Edge[] } {
  const chains = new Map<string, Job>()
  const chainOf = new Map<string, string>()
  for (const job of jobs) {
    chainOf.set(job.job_id, job.chain_id)
    const known = chains.get(job.chain_id)
    if (known === undefined || known.attempt < job.attempt) chains.set(job.chain_id, job)
  }
  const latest = [...chains.values()].toSorted((a, b) => a.chain_id.localeCompare(b.chain_id))
  const edges = latest.flatMap((job) =>
    job.depends_on.map((parent): Edge => [chainOf.get(parent) ?? parent, job.chain_id]),
  )
  return { latest, edges }
}

export function GroupPage({ id }: { id: string }) {
  const [isOpen, setOpen] = useState(false)
  const live = useLive(id, (signal) => loadGroup(id, signal))
  const { data, problem } = live
  if (data === null) return problem ? <CannotLoad problem={problem} onRetry={live.reload} /> : <Loading />
  const { group, jobs, isMore } = data
  const { latest, edges } = membersOf(jobs)
  const drawn = edges.length > 0 || group.mode === 'parallel' ? edges : sequence(latest)
  return (
    <>
      {problem && <Stale />}
      <PageHead
        title={
          <span class="row">
            {nameOf(group)} <Badge look={lookOf(group.status)} />
          </span>
        }
        sub={`${group.mode}, on failure ${group.on_failure} · ${group.counts.total.toLocaleString('en')} jobs`}
      >
        {mayOperate.value && group.finished_at === null && (
          <button type="button" class="button danger" onClick={() => setOpen(true)}>
            <Icon name="slash" /> Cancel the group
          </button>
        )}
      </PageHead>
      <div class="card card-body row">
        <Counts group={group} />
        <span class="faint small">
          Began <FullTime at={group.started_at} />
        </span>
      </div>
      <Card title="Members" note={isMore ? `the first ${MEMBERS_SHOWN}` : undefined}>
        <Graph
          boxes={latest.map((job) => ({
            id: job.chain_id,
            title: jobName(job),
            under: shortId(job.job_id),
            look: lookOfJob(job),
            href: href('jobs', job.job_id),
          }))}
          edges={drawn}
        />
      </Card>
      <Card title="Jobs" note={<a href={hrefWith(['jobs'], { group_id: id })}>Search among them</a>}>
        <Table
          label="Jobs of this group"
          rows={jobs}
          keyOf={(job) => job.job_id}
          nameOf={jobName}
          hrefOf={(job) => href('jobs', job.job_id)}
          columns={JOB_COLUMNS.filter(({ key }) => ['job', 'state', 'attempt', 'waited', 'took'].includes(key))}
        />
      </Card>
      {isOpen && <CancelGroup group={group} onClose={() => setOpen(false)} onDone={live.reload} />}
    </>
  )
}

function sequence(jobs: readonly Job[]): readonly Edge[] {
  return jobs.slice(1).map((job, index): Edge => [(jobs[index] as Job).chain_id, job.chain_id])
}

function CancelGroup({ group, onClose, onDone }: { group: Group; onClose: () => void; onDone: () => void }) {
  const [mode, setMode] = useState<'graceful' | 'abort'>('graceful')
  const [reason, setReason] = useState('')
  return (
    <FormDialog
      title={`Cancel ${nameOf(group)}`}
      submit="Cancel the group"
      isDanger
      onClose={onClose}
      onSubmit={async () => {
        await ask('POST /api/job-groups/{group_id}/cancel', {
          params: { group_id: group.group_id },
          body: { mode, ...(reason !== '' && { reason }) },
        })
        say('The group is being cancelled.')
        onDone()
      }}
    >
      <p>
        {group.counts.queued.toLocaleString('en')} queued and {group.counts.running.toLocaleString('en')} running jobs
        are cancelled.
      </p>
      <ChoiceField
        label="Jobs that run"
        value={mode}
        onChange={setMode}
        options={[
          ['graceful', 'may end, and are not retried'],
          ['abort', 'are aborted now'],
        ]}
      />
      <TextField label="Reason" value={reason} onInput={setReason} />
    </FormDialog>
  )
}
