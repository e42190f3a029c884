import type { Colors } from '../output/colors.ts'
import { escapeLine } from '../output/escape.ts'
import { lasted, relativeTime } from '../output/times.ts'
import { padEnd, padStart, shorten, widthOf } from '../output/width.ts'
import { type Section, shareLines } from './line-shares.ts'
import { progressBar } from './progress-bar.ts'
import type { RecentResult } from './recent-results.ts'
import type { ActiveDirect, RunningBody, WaitingJob, WatchState } from './watch-state.ts'

export interface Frame {
  readonly columns: number
  readonly rows: number
  readonly now: number
  readonly colors: Colors
  /** What is being watched. */
  readonly title: string
}

/** Everything that the screen shows, as lines that fit it. Nothing in it can steer the terminal but our own colours. */
export function drawFrame(state: WatchState, frame: Frame): string[] {
  const head = [header(state, frame), ...connectionLines(state, frame)]
  const sections = sectionsOf(state, frame).filter(({ lines }) => lines.length > 0)
  const body =
    sections.length === 0 && state.connection.kind === 'connected'
      ? ['', frame.colors.dim(fit('Nothing has happened yet. Enqueue a job, and it appears here.', frame))]
      : shareLines(sections, frame.rows - head.length).flatMap((section) => [
          '',
          frame.colors.bold(fit(section.title, frame)),
          ...section.lines,
        ])
  return [...head, ...body].slice(0, Math.max(1, frame.rows))
}

function header(state: WatchState, frame: Frame): string {
  const { snapshot } = state
  const { colors } = frame
  const facts = [
    escapeLine(frame.title),
    snapshot.nodes === 0 ? 'no node executes' : many(snapshot.nodes, 'node'),
    `${snapshot.queueLength} queued`,
    `${snapshot.running.length} running`,
    `${state.throughput.perSecond(frame.now).toFixed(1)} jobs/s`,
  ]
  const text = fit(`Pawl  ${facts.join('  ·  ')}`, frame)
  return text.startsWith('Pawl') ? colors.bold(colors.cyan('Pawl')) + text.slice('Pawl'.length) : text
}

function connectionLines({ connection }: WatchState, frame: Frame): string[] {
  switch (connection.kind) {
    case 'connected':
      return []
    case 'connecting':
      return [frame.colors.dim(fit('Connecting …', frame))]
    case 'lost': {
      const since = lasted(Math.max(0, frame.now - connection.since)) ?? ''
      const text = `Not connected for ${since}: ${escapeLine(connection.message)} Trying again …`
      return [frame.colors.yellow(fit(text, frame))]
    }
  }
}

function sectionsOf(state: WatchState, frame: Frame): Section[] {
  const { running, queue, directs, queueLength } = state.snapshot
  const recent = state.recent.latest(frame.rows)
  const widths = columnsFor(frame, [...running, ...queue, ...directs, ...recent])
  return [
    {
      title: `Running (${running.length})`,
      lines: running.map((body) => runningLine(body, state, frame, widths)),
      weight: 3,
    },
    { title: `Direct (${directs.length})`, lines: directs.map((each) => directLine(each, frame, widths)), weight: 2 },
    { title: `Next (${queueLength})`, lines: queue.map((job) => waitingLine(job, frame, widths)), weight: 2 },
    { title: 'Recent', lines: recent.map((result) => resultLine(result, frame, widths)), weight: 3 },
  ]
}

interface Widths {
  readonly label: number
  readonly bar: number
}

const LABEL_MIN = 8
const LABEL_MAX = 36
const BAR_MAX = 24

/** The same columns in all sections, so that the eye finds them again. */
function columnsFor(frame: Frame, items: readonly Labelled[]): Widths {
  const room = Math.max(LABEL_MIN, Math.floor(frame.columns / 3))
  const longest = Math.max(LABEL_MIN, ...items.map((item) => widthOf(labelOf(item))))
  return {
    label: Math.min(longest, room, LABEL_MAX),
    bar: frame.columns < 60 ? 0 : Math.min(BAR_MAX, Math.floor(frame.columns / 5)),
  }
}

interface Labelled {
  readonly type: string
  readonly name?: string | null
  readonly attempt?: number | null
}

/** `story gothic #2`: the type, the name if it has one, and which attempt it is. */
function labelOf({ type, name, attempt }: Labelled): string {
  const words = [type, name ?? '', (attempt ?? 1) > 1 ? `#${attempt}` : '']
  return escapeLine(words.filter((word) => word !== '').join(' '))
}

function label(item: Labelled, { label: width }: Widths): string {
  return padEnd(shorten(labelOf(item), width), width)
}

function runningLine(body: RunningBody, state: WatchState, frame: Frame, widths: Widths): string {
  const progress = state.progressOf(body)
  const elapsed = padStart(lasted(Math.max(0, frame.now - body.startedAt)) ?? '', 8)
  const percent = padStart(progress === null ? '' : `${Math.round(progress.fraction * 100)} %`, 5)
  const bar = widths.bar === 0 ? '' : ` ${progressBar(progress?.fraction ?? null, widths.bar)}`
  const words = [body.isCancelRequested ? 'cancelling' : '', escapeLine(progress?.message ?? '')]
  const rest = [percent, elapsed, words.filter((word) => word !== '').join(', ')].join(' ')
  const left = `  ${label(body, widths)}`
  const text = fit(`${left}${bar} ${rest}`, frame)
  return paintPart(text, left.length, bar.length, frame.colors.cyan)
}

function directLine(direct: ActiveDirect, frame: Frame, widths: Widths): string {
  const since = lasted(Math.max(0, frame.now - direct.since)) ?? ''
  return fit(`  ${label(direct, widths)} ${direct.status === 'RUNNING' ? 'executes' : 'waits'} for ${since}`, frame)
}

function waitingLine(job: WaitingJob, frame: Frame, widths: Widths): string {
  const priority = job.priority === 0 ? '' : `priority ${job.priority}  `
  const text = fit(`  ${label(job, widths)} ${priority}${holdInWords(job, frame.now)}`, frame)
  return job.hold === null ? text : frame.colors.dim(text)
}

function holdInWords({ hold, runAt }: WaitingJob, now: number): string {
  switch (hold) {
    case null:
      return 'ready'
    case 'delayed':
      return `due ${relativeTime(new Date(runAt).toISOString(), now) ?? ''}`
    case 'dependencies':
      return 'waits for other jobs'
    case 'group':
      return 'waits for its turn in the group'
    case 'predecessor':
      return 'waits for the attempt before'
    default:
      return hold
  }
}

const MARKS: Readonly<Record<string, string>> = { COMPLETED: '✓', FAILED: '✗', SKIPPED: '↷', CANCELLED: '⊘' }

function resultLine(result: RecentResult, frame: Frame, widths: Widths): string {
  const { outcome, reason, details } = result
  const took = padStart(lasted(details?.durationMs ?? null) ?? '', 8)
  const [error = ''] = (details?.error ?? '').split('\n')
  const what =
    reason === null || reason === 'error'
      ? escapeLine(error)
      : `${reason}${error === '' ? '' : `: ${escapeLine(error)}`}`
  const mark = `${MARKS[outcome] ?? '·'} ${outcome}`
  const left = `  ${label(result, widths)} `
  const text = fit(`${left}${padEnd(mark, 11)} ${took}  ${what}`.trimEnd(), frame)
  return paintPart(text, left.length, mark.length, painterOf(outcome, frame.colors))
}

function painterOf(outcome: string, colors: Colors): (text: string) => string {
  switch (outcome) {
    case 'COMPLETED':
      return colors.green
    case 'FAILED':
      return colors.red
    default:
      return colors.yellow
  }
}

/** Colours come last: what has been painted cannot be measured or cut any more. */
function paintPart(text: string, from: number, length: number, paint: (text: string) => string): string {
  const part = text.slice(from, from + length)
  return part === '' ? text : text.slice(0, from) + paint(part) + text.slice(from + length)
}

function fit(text: string, { columns }: Frame): string {
  return shorten(text, columns)
}

function many(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
