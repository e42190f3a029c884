import { printExact } from '../api/exact-json.ts'
import { ask } from '../api/http.ts'
import type { AuditEntry } from '../api/things.ts'
import { useLive } from '../live/use-live.ts'
import { shortId } from '../parts/copy.tsx'
import { NothingMatches, NothingYet } from '../parts/empty.tsx'
import { CommittedField } from '../parts/field.tsx'
import { Listing, PageHead } from '../parts/listing.tsx'
import { Table } from '../parts/table.tsx'
import { Ago } from '../parts/time.tsx'
import { href, queryOf, setQuery } from '../route.ts'

const PAGES: readonly (readonly [prefix: string, page: string])[] = [
  ['job.', 'jobs'],
  ['schedule.', 'schedules'],
  ['group.', 'groups'],
  ['webhook.', 'webhooks'],
  ['operation.', 'operations'],
]

function Subject({ entry }: { entry: AuditEntry }) {
  if (entry.subject === null) return <span class="faint">–</span>
  const page = PAGES.find(([prefix]) => entry.action.startsWith(prefix))?.[1]
  const words = `${shortId(entry.subject)}${entry.others > 0 ? ` and ${entry.others} more` : ''}`
  return page === undefined ? (
    <span class="mono nowrap">{words}</span>
  ) : (
    <a class="mono nowrap" href={href(page, entry.subject)}>
      {words}
    </a>
  )
}

export function AuditList({ entries }: { entries: readonly AuditEntry[] }) {
  return (
    <ul class="card-body stack tight">
      {entries.map((entry) => (
        <li class="row spread keep" key={entry.audit_id}>
          <span class="clip">
            {entry.action} <span class="faint">by {entry.actor}</span>
          </span>
          <span class="faint small">
            <Ago at={entry.at} />
          </span>
        </li>
      ))}
    </ul>
  )
}

export function AuditPage() {
  const [actor, subject, cursor] = [queryOf('actor'), queryOf('subject'), queryOf('cursor')]
  const query = { limit: '50', ...(actor && { actor }), ...(subject && { subject }), ...(cursor && { cursor }) }
  const audit = useLive(JSON.stringify(query), (signal) => ask('GET /api/audit', { query: query as never, signal }), {
    everyMs: 5_000,
  })
  return (
    <>
      <PageHead title="Audit" sub="Who changed what, newest first" />
      <div class="card">
        <div class="tools">
          <div class="pair grow">
            <CommittedField
              label="Actor"
              value={actor}
              placeholder="key:ci"
              onCommit={(value) => setQuery({ actor: value, cursor: null })}
            />
            <CommittedField
              label="Subject"
              value={subject}
              placeholder="The id of a job, schedule…"
              onCommit={(value) => setQuery({ subject: value, cursor: null })}
            />
          </div>
        </div>
        <Listing
          live={audit}
          empty={
            actor || subject ? (
              <NothingMatches what="entries" onClear={() => setQuery({ actor: null, subject: null, cursor: null })} />
            ) : (
              <NothingYet title="Nothing was changed yet">
                Every change through the API is noted here, with who made it.
              </NothingYet>
            )
          }
        >
          {(items) => (
            <Table
              label="Audit"
              rows={items}
              keyOf={(entry) => entry.audit_id}
              nameOf={(entry) => entry.action}
              columns={[
                {
                  key: 'action',
                  head: 'Action',
                  class: 'lead',
                  cell: (entry) => <span class="mono nowrap">{entry.action}</span>,
                },
                { key: 'at', head: 'When', class: 'side-cell', cell: (entry) => <Ago at={entry.at} /> },
                { key: 'actor', head: 'Actor', cell: (entry) => <span class="clip">{entry.actor}</span> },
                { key: 'subject', head: 'Subject', cell: (entry) => <Subject entry={entry} /> },
                {
                  key: 'details',
                  head: 'Details',
                  cell: (entry) => (
                    <span class="mono soft">{entry.details === null ? '' : printExact(entry.details, 0)}</span>
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
