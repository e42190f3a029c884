import type { Node, Schedule, Statistics } from '../api/things.ts'
import { durationWords } from '../parts/duration-words.ts'

export interface Health {
  readonly tone: 'good' | 'warn' | 'bad'
  readonly sentence: string
}

const OLDEST_READY_MS = 60_000
const SCHEDULE_LATE_MS = 10_000
const NODE_SILENT_MS = 10_000

export function countWords(count: number, countedTo: number): string {
  return `${count.toLocaleString('en')}${count >= countedTo ? ' or more' : ''}`
}

interface Seen {
  readonly statistics: Statistics
  readonly schedules: readonly Schedule[]
  readonly nodes: readonly Node[]
  readonly nowMs: number
}

/** One sentence that says what an operator must know first. Nothing wrong is said in one, too. */
export function decideHealth({ statistics, schedules, nodes, nowMs }: Seen): Health {
  const { queue } = statistics
  const bad: string[] = []
  const warn: string[] = []
  const claiming = nodes.filter((node) => node.alive && node.claims)
  if (claiming.length === 0) {
    bad.push(
      queue.queued > 0
        ? `no node takes jobs, ${countWords(queue.queued, queue.counted_to)} wait`
        : 'no node takes jobs',
    )
  }
  for (const node of nodes) {
    const silentMs = node.last_seen_at ? nowMs - Date.parse(node.last_seen_at) : 0
    if (!node.alive) bad.push(`node ${node.name} is dead`)
    else if (silentMs > NODE_SILENT_MS) bad.push(`node ${node.name} silent for ${durationWords(silentMs)}`)
  }
  const late = schedules.filter(
    ({ enabled, next_trigger_at: at }) => enabled && at !== null && nowMs - Date.parse(at) > SCHEDULE_LATE_MS,
  )
  if (late.length > 0) warn.push(`${late.length} ${late.length === 1 ? 'schedule' : 'schedules'} late`)
  const broken = schedules.filter(({ disabled_reason: reason }) => reason !== null)
  if (broken.length > 0) warn.push(`${broken.length} ${broken.length === 1 ? 'schedule' : 'schedules'} broken`)
  const oldestMs = queue.oldest_ready_at === null ? 0 : nowMs - Date.parse(queue.oldest_ready_at)
  if (oldestMs > OLDEST_READY_MS) warn.push(`oldest ready job ${durationWords(oldestMs)}`)
  const all = [...bad, ...warn]
  if (all.length > 0) return { tone: bad.length > 0 ? 'bad' : 'warn', sentence: sentenceOf(all) }
  const nodeWords = `${claiming.length} ${claiming.length === 1 ? 'node takes' : 'nodes take'} jobs`
  const queueWords =
    queue.ready === 0 ? 'nothing waits that could run' : `${countWords(queue.ready, queue.counted_to)} ready`
  return { tone: 'good', sentence: sentenceOf(['All is well', nodeWords, queueWords]) }
}

function sentenceOf(parts: readonly string[]): string {
  const text = parts.join(', ')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
