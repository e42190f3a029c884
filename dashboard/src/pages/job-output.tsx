import { useEffect, useRef } from 'preact/hooks'
import { ask } from '../api/http.ts'
import { useLive } from '../live/use-live.ts'
import { Copy } from '../parts/copy.tsx'
import { Redacted } from '../parts/json.tsx'
import { Card } from '../parts/listing.tsx'

/** Of more than this the end is shown. */
const SHOWN_BYTES_MAX = 262_144
const BYTES_AT_ONCE = 65_536

/** What a terminal would read as colours and movements of its cursor. */
// oxlint-disable-next-line no-control-regex -- an escape is what this is about
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-Z\\-_])/g

interface Read {
  readonly text: string
  /** The byte to go on from. */
  readonly next: number
  readonly size: number
  /** The beginning is not shown. */
  readonly isCut: boolean
  readonly isRedacted: boolean
}

const NOTHING: Read = { text: '', next: 0, size: 0, isCut: false, isRedacted: false }

/** Reads on from what is known already. */
async function readOn(jobId: string, known: Read, signal: AbortSignal): Promise<Read> {
  let read = known
  for (;;) {
    const query = { after: read.next, limit: BYTES_AT_ONCE } as never
    const part = await ask('GET /api/jobs/{job_id}/output', { params: { job_id: jobId }, query, signal })
    if ('redacted' in part) return { ...NOTHING, isRedacted: true }
    const lastBytes = part.size_bytes - SHOWN_BYTES_MAX
    if (lastBytes > part.next_after) {
      read = { text: '', next: lastBytes, size: part.size_bytes, isCut: true, isRedacted: false }
      continue
    }
    const text = read.text + part.text
    read = {
      text: text.slice(-SHOWN_BYTES_MAX),
      next: part.next_after,
      size: part.size_bytes,
      isCut: read.isCut || text.length > SHOWN_BYTES_MAX,
      isRedacted: false,
    }
    if (part.text === '' || part.next_after >= part.size_bytes) return read
  }
}

/** What the child process of a job printed, as it prints it. Follows the end while somebody looks at the end. */
export function JobOutput({ jobId, isRunning }: { jobId: string; isRunning: boolean }) {
  const known = useRef(NOTHING)
  const box = useRef<HTMLPreElement>(null)
  const isAtEnd = useRef(true)
  const output = useLive(
    `output ${jobId}`,
    async (signal) => {
      known.current = await readOn(jobId, known.current, signal)
      return known.current
    },
    { concerns: (event) => event.job_id === jobId, ...(isRunning && { everyMs: 1_000 }) },
  )
  const { text, size, isCut, isRedacted } = output.data ?? NOTHING
  useEffect(() => {
    const element = box.current
    if (element && isAtEnd.current) element.scrollTop = element.scrollHeight
  }, [text])
  const shown = text.replace(ESCAPES, '')
  return (
    <Card
      title="Output"
      note={size > 0 && `${isCut ? 'the end of ' : ''}${size.toLocaleString('en')} bytes, stdout and stderr`}
    >
      <div class="card-body">
        {isRedacted ? (
          <Redacted what="Hidden: your key may not see output" />
        ) : shown === '' ? (
          <span class="faint">
            {isRunning ? 'Nothing printed so far.' : 'Nothing was printed, or its file is gone.'}
          </span>
        ) : (
          <div class="code">
            <pre
              ref={box}
              class="output"
              tabIndex={0}
              role="region"
              aria-label="output"
              onScroll={({ currentTarget: element }) => {
                isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 24
              }}
            >
              {shown}
            </pre>
            <Copy text={shown} what="output" />
          </div>
        )}
      </div>
    </Card>
  )
}
