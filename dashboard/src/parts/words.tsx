import type { ComponentChildren } from 'preact'
import { href } from '../route.ts'
import { shortId } from './copy.tsx'
import { FullTime } from './time.tsx'

const TOLD_OTHERWISE =
  /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)|\bjob ([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})|`([a-z]+(?:-[a-z]+)*)`/g

/** A sentence of the server's: its instants become times of the viewer's zone, its jobs links, and its names code. */
export function Words({ text }: { text: string }) {
  const parts: ComponentChildren[] = []
  let end = 0
  for (const match of text.matchAll(TOLD_OTHERWISE)) {
    const [whole, instant, jobId, name] = match
    parts.push(text.slice(end, match.index))
    if (instant !== undefined) parts.push(<FullTime at={instant} key={match.index} />)
    else if (name !== undefined) parts.push(<code key={match.index}>{name}</code>)
    else {
      parts.push(
        <span key={match.index}>
          job <a href={href('jobs', jobId as string)}>{shortId(jobId as string)}</a>
        </span>,
      )
    }
    end = match.index + whole.length
  }
  parts.push(text.slice(end))
  return <>{parts}</>
}
