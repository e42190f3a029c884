import type { Client, StreamedEvent } from '../../client/index.ts'
import type { Cli } from '../cli.ts'
import { escapeLine, safeJson } from '../output/escape.ts'
import { followEvents } from './event-source.ts'
import { readWatchEvent, type WatchEvent } from './watch-event.ts'

/** One line for each event, for pipes and files, until the signal fires. With `--json` one JSON document a line. */
export async function watchInLines(cli: Cli, client: Client, signal: AbortSignal): Promise<void> {
  let isLost = false
  await followEvents(client, cli.clock, signal, {
    connected() {
      if (isLost) cli.note('Connected again.')
      isLost = false
    },
    lost(message) {
      if (!isLost) cli.note(`${escapeLine(message)} Trying again …`)
      isLost = true
    },
    event: (event) => cli.print(cli.isJson ? safeJson(event) : lineOf(event)),
  })
}

function lineOf(streamed: StreamedEvent): string {
  const event = readWatchEvent(streamed)
  if (event === null) return escapeLine(`${streamed.event} ${safeJson(streamed.data)}`)
  const words = [event.at, event.kind, event.type, event.jobId, ...detailsOf(event)]
  return escapeLine(words.filter((word) => word !== '').join(' '))
}

function detailsOf(event: WatchEvent): string[] {
  const { attempt, outcome, reason, progress, message } = event
  return [
    attempt === null || attempt === 1 ? '' : `attempt=${attempt}`,
    outcome ?? '',
    reason === null ? '' : `reason=${reason}`,
    progress === null ? '' : `${Math.round(progress * 100)}%`,
    message ?? '',
  ]
}
