import type { Chain, Job } from '../api/things.ts'

/** A stretch of time, in epoch milliseconds. */
export interface Stretch {
  readonly from: number
  readonly to: number
}

/** What an attempt did, one after the other: it was delayed, it waited for a place, it ran. */
export interface Phases {
  readonly delayed: Stretch
  readonly waited: Stretch
  readonly ran: Stretch | null
}

export function phasesOf(job: Job, nowMs: number): Phases {
  const queuedAt = Date.parse(job.queued_at)
  const startedAt = job.started_at === null ? null : Date.parse(job.started_at)
  const endedAt = job.finished_at === null ? null : Date.parse(job.finished_at)
  const until = Math.max(queuedAt, startedAt ?? endedAt ?? nowMs)
  const due = Math.min(until, Math.max(queuedAt, Date.parse(job.run_at)))
  return {
    delayed: { from: queuedAt, to: due },
    waited: { from: due, to: until },
    ran: startedAt === null ? null : { from: startedAt, to: Math.max(startedAt, endedAt ?? nowMs) },
  }
}

export function lengthOf({ from, to }: Stretch): number {
  return to - from
}

/** From the first moment of a chain to its last, or to now. */
export function wholeOf(chain: Chain, nowMs: number): Stretch {
  const all = chain.items.map((job) => phasesOf(job, nowMs))
  const from = Math.min(...all.map(({ delayed }) => delayed.from))
  return { from, to: Math.max(from + 1, ...all.map(({ waited, ran }) => (ran ?? waited).to)) }
}

/** Where a stretch stands in the window, in per cent. Null: outside of it. */
export function placeIn(window: Stretch, { from, to }: Stretch): { left: number; width: number } | null {
  const length = lengthOf(window)
  const left = Math.max(0, (from - window.from) / length)
  const right = Math.min(1, (to - window.from) / length)
  if (to <= from || right <= 0 || left >= 1) return null
  return { left: left * 100, width: (right - left) * 100 }
}

/** A window around a stretch, with some air at both ends, and within the whole. */
export function around(stretch: Stretch, whole: Stretch): Stretch {
  const air = Math.max(1, lengthOf(stretch) * 0.1)
  return { from: Math.max(whole.from, stretch.from - air), to: Math.min(whole.to, stretch.to + air) }
}

const STEPS_MS = [1, 2, 5, 10, 20, 50, 100, 200, 500].concat(
  [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400].map((s) => s * 1_000),
)

/** Round distances from the beginning of the whole, at most six in the window, none so late that its words have no room. */
export function ticksOf(window: Stretch, whole: Stretch): number[] {
  const length = lengthOf(window)
  const step = STEPS_MS.find((ms) => length / ms <= 6) ?? Math.ceil(length / 6 / 86_400_000) * 86_400_000
  const ticks: number[] = []
  for (
    let at = Math.ceil((window.from - whole.from) / step) * step;
    at <= window.to - whole.from - length * 0.06;
    at += step
  ) {
    ticks.push(at)
  }
  return ticks
}
