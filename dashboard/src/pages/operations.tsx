import { ask } from '../api/http.ts'
import { mayOperate } from '../api/session.ts'
import type { Operation } from '../api/things.ts'
import { useLive } from '../live/use-live.ts'
import { NothingYet } from '../parts/empty.tsx'
import { Listing, PageHead } from '../parts/listing.tsx'
import { Badge, lookOf } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { Ago, Took } from '../parts/time.tsx'
import { attempt } from '../parts/toast.tsx'
import { place, queryOf } from '../route.ts'

function targetWords({ filter, job_ids: ids }: Operation): string {
  if (ids !== null) return `${ids.length} chosen jobs`
  const words = Object.entries(filter ?? {}).map(([name, value]) => `${name}: ${String(value)}`)
  return words.length === 0 ? 'all jobs' : words.join(', ')
}

function Progress({ operation }: { operation: Operation }) {
  const { done, matched, status } = operation
  const percent = status === 'COMPLETED' ? 100 : matched === 0 ? 0 : Math.min(100, Math.round((100 * done) / matched))
  return (
    <span class="row keep grow">
      <span class="grow">
        <div
          class="bar-track"
          role="progressbar"
          aria-label={`Progress: ${operation.kind}`}
          aria-valuenow={percent}
          aria-valuemin={0}
          aria-valuemax={100}
        >
          <div class="bar-fill" style={{ width: `${percent}%` }} />
        </div>
      </span>
      <span class="num nowrap">
        {done.toLocaleString('en')}{' '}
        <span class="faint">
          / {matched.toLocaleString('en')}
          {operation.matched_or_more ? '+' : ''}
        </span>
      </span>
    </span>
  )
}

/** Bulk operations: how far each is, what it did and what it left alone, and the way to end it. */
export function OperationsPage() {
  const cursor = queryOf('cursor')
  const wanted = place.value.parts[1]
  const operations = useLive(
    `operations ${cursor}`,
    (signal) => ask('GET /api/operations', { query: { limit: '50', ...(cursor && { cursor }) } as never, signal }),
    { everyMs: 1_000 },
  )
  const abort = (id: string) =>
    void attempt(
      () => ask('POST /api/operations/{operation_id}/abort', { params: { operation_id: id } }),
      () => operations.reload(),
    )
  return (
    <>
      <PageHead title="Operations" sub="Cancelling and retrying many jobs at once" />
      <div class="card">
        <Listing
          live={operations}
          empty={
            <NothingYet
              title="No bulk operations yet"
              command="pawl jobs cancel --all --status QUEUED --type <type> --dry-run"
            >
              Select jobs on the Jobs page, then cancel or retry them.
            </NothingYet>
          }
        >
          {(items) => (
            <Table
              label="Operations"
              rows={items}
              keyOf={(operation) => operation.operation_id}
              nameOf={(operation) => operation.kind}
              columns={[
                {
                  key: 'what',
                  head: 'Operation',
                  class: 'lead',
                  cell: (operation) => (
                    <span class="main-cell">
                      <strong>
                        {operation.kind === 'cancel' ? 'Cancel' : 'Retry'}
                        {operation.operation_id === wanted && <span class="tag">this one</span>}
                      </strong>
                      <span class="under clip">{targetWords(operation)}</span>
                    </span>
                  ),
                },
                {
                  key: 'state',
                  head: 'State',
                  class: 'side-cell',
                  cell: (operation) => <Badge look={lookOf(operation.status)} />,
                },
                { key: 'progress', head: 'Progress', cell: (operation) => <Progress operation={operation} /> },
                {
                  key: 'changed',
                  head: 'Changed',
                  class: 'num',
                  cell: (operation) => operation.changed.toLocaleString('en'),
                },
                {
                  key: 'skipped',
                  head: 'Left alone',
                  class: 'num',
                  cell: (operation) => (
                    <span
                      title={Object.entries(operation.skip_reasons)
                        .map(([code, count]) => `${code}: ${count}`)
                        .join('\n')}
                    >
                      {(operation.skipped + operation.failed).toLocaleString('en')}
                    </span>
                  ),
                },
                { key: 'by', head: 'By', cell: (operation) => operation.created_by ?? '–' },
                { key: 'began', head: 'Began', class: 'num', cell: (operation) => <Ago at={operation.created_at} /> },
                {
                  key: 'took',
                  head: 'Took',
                  class: 'num',
                  cell: (operation) => <Took from={operation.created_at} to={operation.ended_at} />,
                },
                {
                  key: 'act',
                  head: '',
                  class: 'num',
                  cell: (operation) =>
                    operation.status === 'RUNNING' &&
                    mayOperate.value && (
                      <button type="button" class="button slim danger" onClick={() => abort(operation.operation_id)}>
                        Abort
                      </button>
                    ),
                },
              ]}
            />
          )}
        </Listing>
      </div>
    </>
  )
}
