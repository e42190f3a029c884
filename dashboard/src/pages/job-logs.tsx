import { useEffect, useRef, useState } from 'preact/hooks'
import { printExact } from '../api/exact-json.ts'
import { ask } from '../api/http.ts'
import type { LogLine } from '../api/things.ts'
import { useLive } from '../live/use-live.ts'
import { Card } from '../parts/listing.tsx'
import { clockTime } from '../parts/time.tsx'

/** More lines than this are read in pages. */
const LINES_PER_PAGE = '200'
const PAGES_MAX = 10

async function readLines(jobId: string, signal: AbortSignal): Promise<{ lines: LogLine[]; isMore: boolean }> {
  const lines: LogLine[] = []
  let cursor: string | null = null
  for (let page = 0; page < PAGES_MAX; page++) {
    const query = { limit: LINES_PER_PAGE, ...(cursor !== null && { cursor }) } as never
    const answer = await ask('GET /api/jobs/{job_id}/logs', { params: { job_id: jobId }, query, signal })
    lines.push(...answer.items)
    cursor = answer.next_cursor
    if (cursor === null) return { lines, isMore: false }
  }
  return { lines, isMore: true }
}

/** What the handler logged. Follows the end while somebody looks at the end. */
export function JobLogs({ jobId, isRunning }: { jobId: string; isRunning: boolean }) {
  const [wanted, setWanted] = useState('')
  const list = useRef<HTMLOListElement>(null)
  const isAtEnd = useRef(true)
  const logs = useLive(`logs ${jobId}`, (signal) => readLines(jobId, signal), {
    concerns: (event) => event.job_id === jobId,
    ...(isRunning && { everyMs: 1_000 }),
  })
  const count = logs.data?.lines.length ?? 0
  useEffect(() => {
    const element = list.current
    if (element && isAtEnd.current) element.scrollTop = element.scrollHeight
  }, [count])
  const shown = (logs.data?.lines ?? []).filter(({ text }) => text.toLowerCase().includes(wanted.toLowerCase()))
  return (
    <Card
      title="Logs"
      note={
        count > 0 && (
          <span class="row">
            {count.toLocaleString('en')} {count === 1 ? 'line' : 'lines'}
            <input
              class="input find"
              aria-label="Find in logs"
              placeholder="Find…"
              value={wanted}
              onInput={(event) => setWanted(event.currentTarget.value)}
            />
          </span>
        )
      }
    >
      {count === 0 ? (
        <div class="card-body faint">{isRunning ? 'Nothing logged so far.' : 'Nothing was logged.'}</div>
      ) : (
        <ol
          class="log"
          ref={list}
          tabIndex={0}
          aria-label="Log lines"
          onScroll={({ currentTarget: element }) => {
            isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 24
          }}
        >
          {shown.map((line) => (
            <li key={line.line} data-level={line.level}>
              <span class="when faint">{clockTime(line.at)}</span>
              <span class="level">{line.level}</span>
              <span class="text">
                {line.text}
                {line.fields !== null && <span class="fields"> {printExact(line.fields, 0)}</span>}
              </span>
            </li>
          ))}
          {logs.data?.isMore && (
            <li>
              <span class="text faint">There are more lines. `pawl jobs logs` shows them all.</span>
            </li>
          )}
        </ol>
      )}
    </Card>
  )
}
