import type { ComponentChildren } from 'preact'
import { href } from '../route.ts'
import { shortId } from './copy.tsx'
import { FullTime } from './time.tsx'

const INSTANT_OR_JOB =
  /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)|\bjob ([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})/g

/** A sentence of the server's: its instants become times of the viewer's zone, its jobs become links. */
export function Words({ text }: { text: string }) {
  const parts: ComponentChildren[] = []
  let end = 0
  for (const match of text.matchAll(INSTANT_OR_JOB)) {
    const [whole, instant, jobId] = match
    parts.push(text.slice(end, match.index))
    parts.push(
      instant !== undefined ? (
        <FullTime at={instant} key={match.index} />
      ) : (
        <span key={match.index}>
          job <a href={href('jobs', jobId as string)}>{shortId(jobId as string)}</a>
        </span>
      ),
    )
    end = match.index + whole.length
  }
  parts.push(text.slice(end))
  return <>{parts}</>
}
