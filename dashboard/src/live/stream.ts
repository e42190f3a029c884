import { computed, signal } from '@preact/signals'
import { addressOf } from '../api/http.ts'

/** A transition, as `GET /api/events` tells it. */
export interface LiveEvent {
  readonly kind: string
  readonly job_id: string
  readonly chain_id: string
  readonly job_type: string
  readonly run_id: string | null
  readonly operation_id?: string
  readonly schedule_id?: string
  readonly progress?: number
  readonly message?: string | null
}

const KINDS = [
  'job.queued',
  'job.started',
  'job.finished',
  'job.cancelled',
  'job.cancel-requested',
  'job.moved',
  'job.edited',
  'job.released',
  'schedule.triggered',
  'run.progress',
  'run.released',
  'operation.progress',
] as const

const RECONNECT_MIN_MS = 500
const RECONNECT_MAX_MS = 5_000

const connection = signal<'connecting' | 'open' | 'lost'>('connecting')
/** Why nothing on the page may move now: rows are selected, a dialog is open, or somebody wants it so. */
const holds = signal<ReadonlySet<string>>(new Set())
/** How many events came meanwhile. */
export const held = signal(0)

export const isPaused = computed(() => holds.value.size > 0)
export const isPausedByUser = computed(() => holds.value.has('user'))
export const liveState = computed(() => {
  if (connection.value === 'lost') return 'reconnecting'
  if (isPaused.value) return 'paused'
  return connection.value === 'open' ? 'live' : 'connecting'
})

/** Null: anything may have changed, because the stream could not go on where it was. */
type Listener = (event: LiveEvent | null) => void
const listeners = new Set<Listener>()

export function listen(listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function tell(event: LiveEvent | null): void {
  if (isPaused.peek()) held.value++
  for (const listener of listeners) listener(event)
}

export function hold(reason: string): void {
  if (!holds.peek().has(reason)) holds.value = new Set([...holds.peek(), reason])
}

export function release(reason: string): void {
  if (!holds.peek().has(reason)) return
  holds.value = new Set([...holds.peek()].filter((other) => other !== reason))
  if (holds.peek().size === 0) held.value = 0
}

let source: EventSource | null = null
let lastId = ''
let timer: ReturnType<typeof setTimeout> | undefined
let delayMs = RECONNECT_MIN_MS

export function connect(): void {
  disconnect()
  const search = lastId === '' ? '' : `?last_event_id=${encodeURIComponent(lastId)}`
  const opened = new EventSource(addressOf(`/api/events${search}`), { withCredentials: true })
  source = opened
  opened.addEventListener('open', () => {
    delayMs = RECONNECT_MIN_MS
    const wasLost = connection.peek() === 'lost'
    connection.value = 'open'
    // What has no events of its own, such as nodes and webhooks, may have changed meanwhile.
    if (wasLost) tell(null)
  })
  opened.addEventListener('error', () => {
    if (source !== opened) return
    connection.value = 'lost'
    opened.close()
    timer = setTimeout(connect, delayMs)
    delayMs = Math.min(delayMs * 2, RECONNECT_MAX_MS)
  })
  opened.addEventListener('reset', (event) => {
    lastId = event.lastEventId || ''
    tell(null)
  })
  for (const kind of KINDS) {
    opened.addEventListener(kind, (event) => {
      lastId = event.lastEventId
      tell({ ...(JSON.parse(event.data as string) as Omit<LiveEvent, 'kind'>), kind })
    })
  }
}

export function disconnect(): void {
  clearTimeout(timer)
  source?.close()
  source = null
}
