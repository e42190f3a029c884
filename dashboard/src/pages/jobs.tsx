import { useEffect, useState } from 'preact/hooks'
import { ask } from '../api/http.ts'
import { listJobs } from '../api/list-jobs.ts'
import { mayOperate } from '../api/session.ts'
import type { Job } from '../api/things.ts'
import { hold, release } from '../live/stream.ts'
import { useLive } from '../live/use-live.ts'
import { useTypes } from '../live/use-types.ts'
import { NothingMatches, NothingYet } from '../parts/empty.tsx'
import { Icon } from '../parts/icon.tsx'
import { Listing, PageHead } from '../parts/listing.tsx'
import { Table } from '../parts/table.tsx'
import { attempt } from '../parts/toast.tsx'
import { TokenSearch } from '../parts/token-search.tsx'
import { href, hrefWith, place, queryOf, setQuery } from '../route.ts'
import { BulkDialog, type Target } from './bulk.tsx'
import { ColumnChoice, chosenColumns, jobName } from './job-columns.tsx'
import { FILTERS, filtersOf, hasFilters, questionOf, TABS, type Tab, tabOf } from './job-filters.ts'
import { NewJobDialog } from './new-job.tsx'
import { SearchFurther } from './search-further.tsx'

const PAGE_LIMIT = 50

export function JobsPage() {
  const query = place.value.query
  const question = questionOf(query)
  const cursor = query.get('cursor') ?? ''
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [areAllMatching, setAllMatching] = useState(false)
  /** Whoever changes the choice means what is ticked, and no longer all that match. */
  const choose = (ids: ReadonlySet<string>) => {
    setChosen(ids)
    setAllMatching(false)
  }
  const [isNewOpen, setNewOpen] = useState(false)
  const [bulk, setBulk] = useState<{ kind: 'cancel' | 'retry'; target: Target } | null>(null)
  const key = JSON.stringify([question, cursor])
  const jobs = useLive(key, (signal) => listJobs({ ...question, limit: PAGE_LIMIT, ...(cursor && { cursor }) }, signal))
  const types = useTypes() ?? []
  useEffect(() => {
    choose(new Set())
  }, [key])
  useEffect(() => {
    if (chosen.size > 0) hold('selection')
    else release('selection')
    return () => release('selection')
  }, [chosen.size > 0])

  const tab = tabOf(queryOf('tab'))
  const clear = () =>
    setQuery(Object.fromEntries([...Object.keys(FILTERS), 'params_value', 'cursor'].map((name) => [name, null])), {
      push: true,
    })
  const target: Target = areAllMatching ? { filter: question } : { job_ids: [...chosen] }
  const isQueue = tab === 'queued' && !hasFilters()
  const move = (job: Job, side: 'before' | 'after', other: Job) =>
    void attempt(
      () =>
        ask('POST /api/jobs/{job_id}/move', {
          params: { job_id: job.job_id },
          body: side === 'before' ? { before: other.job_id } : { after: other.job_id },
        }),
      jobs.reload,
    )
  return (
    <>
      <PageHead title="Jobs" sub={isQueue ? 'In the order in which they will start' : undefined}>
        {mayOperate.value && (
          <button type="button" class="button primary" onClick={() => setNewOpen(true)}>
            <Icon name="plus" /> New job
          </button>
        )}
      </PageHead>
      <div class="card">
        <Tabs tab={tab} />
        <div class="tools">
          <TokenSearch
            types={types.map(({ type }) => type)}
            tags={[...new Set(jobs.data?.items.flatMap(({ tags }) => tags))]}
          />
          <ColumnChoice />
        </div>
        {chosen.size > 0 && (
          <div class="selection" role="region" aria-label="Selected jobs">
            <strong>{areAllMatching ? 'All that match' : `${chosen.size} selected`}</strong>
            {!areAllMatching && jobs.data?.next_cursor != null && Object.keys(question).length > 0 && (
              <button type="button" class="link" onClick={() => setAllMatching(true)}>
                Select all that match
              </button>
            )}
            <button type="button" class="button slim danger" onClick={() => setBulk({ kind: 'cancel', target })}>
              <Icon name="slash" /> Cancel
            </button>
            <button type="button" class="button slim" onClick={() => setBulk({ kind: 'retry', target })}>
              <Icon name="retry" /> Retry
            </button>
            <button type="button" class="link" onClick={() => choose(new Set())}>
              Clear
            </button>
          </div>
        )}
        <Listing
          live={jobs}
          empty={
            hasFilters() ? (
              <NothingMatches what="jobs" onClear={clear} />
            ) : tab === 'all' ? (
              <NothingYet title="No jobs yet" command="pawl enqueue <type>">
                A job appears here the moment it is accepted.
              </NothingYet>
            ) : (
              <NothingYet title={`No ${tab} jobs`}>They appear here by themselves.</NothingYet>
            )
          }
        >
          {(items) =>
            items.length === 0 && jobs.data?.limited === true ? (
              <SearchFurther question={question} cursor={jobs.data.next_cursor} limit={PAGE_LIMIT} key={key} />
            ) : (
              <>
                <Table
                  label="Jobs"
                  columns={chosenColumns()}
                  rows={items}
                  keyOf={(job) => job.job_id}
                  nameOf={jobName}
                  hrefOf={(job) => href('jobs', job.job_id)}
                  selection={mayOperate.value ? { ids: chosen, set: choose } : undefined}
                  onMove={isQueue && mayOperate.value ? move : undefined}
                />
                {jobs.data?.limited === true && (
                  <div class="more" data-limited>
                    The search looked at as many jobs as it may for one page. Older ones follow on the next.
                  </div>
                )}
              </>
            )
          }
        </Listing>
      </div>
      {isNewOpen && <NewJobDialog types={types} onClose={() => setNewOpen(false)} />}
      {bulk && (
        <BulkDialog
          kind={bulk.kind}
          target={bulk.target}
          onClose={() => setBulk(null)}
          onStarted={() => choose(new Set())}
        />
      )}
    </>
  )
}

function Tabs({ tab }: { tab: Tab }) {
  const counts = useLive('counts', async (signal) => {
    const [live, statistics] = await Promise.all([
      ask('GET /api/jobs/counts', { signal }),
      ask('GET /api/statistics', { signal }),
    ])
    return { live, totals: statistics.totals }
  })
  const textOf = (name: Tab): string | null => {
    const { data } = counts
    if (data === null || name === 'all') return null
    if (name === 'queued' || name === 'running' || name === 'cancelled')
      return capped(data.live[name], data.live.counted_to)
    return short(data.totals[name])
  }
  const filters = filtersOf(place.value.query)
  const columns = queryOf('columns')
  return (
    <nav class="tabs" aria-label="By state">
      {TABS.map(([name, words]) => (
        <a
          key={name}
          href={hrefWith(['jobs'], { ...filters, columns, tab: name === 'all' ? null : name })}
          aria-current={name === tab ? 'true' : undefined}
        >
          {words}
          {textOf(name) !== null && <span class="count">{textOf(name)}</span>}
        </a>
      ))}
    </nav>
  )
}

function capped(count: number, cap: number): string {
  return count >= cap ? `${short(cap)}+` : short(count)
}

function short(count: number): string {
  return count < 100_000
    ? count.toLocaleString('en')
    : new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 }).format(count)
}
