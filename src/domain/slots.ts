import { cronSlotNote, latestCronSlots, nextCronSlot, parseCron, type SlotNote } from './cron.ts'
import { PawlError } from './errors.ts'
import { readWhole } from './options.ts'
import { localTime, SLOT_MAX_AT, zoneNamed } from './zone.ts'

/** When a schedule has its slots. */
export type Timing =
  | { readonly kind: 'cron'; readonly expression: string; readonly timezone: string }
  | {
      readonly kind: 'every'
      readonly everyMs: number
      /** The slots are this instant plus `everyMs` once, twice, and so on. */
      readonly anchorAt: number
      /** Only for showing local times: an interval is real elapsed time. */
      readonly timezone: string
    }

export const EVERY_MIN_MS = 1_000
export const EVERY_MAX_MS = 3_653 * 86_400_000

/** A slot that is later than this is missed. */
export const LATE_MAX_MS = 60_000
/** With `missed: 'all'`, the latest missed slots that still fire. */
export const MISSED_ALL_MAX = 100
/** Skipped slots of a cron expression are counted up to this number. */
export const SKIPPED_COUNT_MAX = 100
export const PREVIEW_COUNT_MAX = 100

/** What happens to slots that were missed: one Job for the latest, one for each of the latest 100, or none. */
export type MissedPolicy = 'one' | 'all' | 'none'

/** What a caller gave, as a timing, or an error that names the option. An interval counts from `anchorAt`. */
export function readTiming(input: {
  readonly cron?: unknown
  readonly everyMs?: unknown
  /** @default 'UTC' */
  readonly timezone?: unknown
  readonly anchorAt: number
}): Timing {
  const { cron = null, everyMs = null, anchorAt } = input
  const timezone = input.timezone ?? 'UTC'
  if ((cron === null) === (everyMs === null)) {
    const came = cron === null ? 'neither' : 'both'
    throw new PawlError('invalid_option', `Expected either \`cron\` or \`everyMs\`, got ${came}.`, { path: 'cron' })
  }
  if (cron !== null) return { kind: 'cron', ...parseCron(cron, timezone) }
  return {
    kind: 'every',
    everyMs: readWhole(everyMs, EVERY_MIN_MS, EVERY_MAX_MS, 'everyMs'),
    anchorAt,
    timezone: zoneNamed(timezone).name,
  }
}

/** The first slot strictly after the instant, or null when there never is one. */
export function nextSlot(timing: Timing, afterAt: number): number | null {
  if (timing.kind === 'cron') return nextCronSlot(timing, afterAt)
  const { anchorAt, everyMs } = timing
  const slot = anchorAt + Math.max(1, Math.floor((afterAt - anchorAt) / everyMs) + 1) * everyMs
  return slot <= SLOT_MAX_AT ? slot : null
}

/** The latest `count` slots at or before `atOrBefore` and strictly after `afterAt`, oldest first. */
function latestSlots(timing: Timing, afterAt: number, atOrBefore: number, count: number): number[] {
  if (timing.kind === 'cron') return latestCronSlots(timing, afterAt, atOrBefore, count)
  const { anchorAt, everyMs } = timing
  const slots: number[] = []
  let slot = anchorAt + Math.floor((atOrBefore - anchorAt) / everyMs) * everyMs
  for (; slots.length < count && slot > Math.max(afterAt, anchorAt); slot -= everyMs) slots.push(slot)
  return slots.reverse()
}

/** Slots that made no Job, as one stretch of time. */
export interface MissedSlots {
  readonly firstSlotAt: number
  readonly lastSlotAt: number
  /** Null: more than was worth counting. */
  readonly count: number | null
  readonly reason: 'missed'
}

/** What to do about the slots that have come since the last time. */
export interface SlotPlan {
  /** In order. */
  readonly fire: readonly number[]
  readonly skipped: readonly MissedSlots[]
  readonly nextSlotAt: number | null
}

/** Decides about all slots after `lastSlotAt` up to now. Those that are hardly late fire; the policy is for the others. */
export function planSlots(
  timing: Timing,
  state: {
    /** Slots not after this never fire. For a new schedule it is the instant from which it counts. */
    readonly lastSlotAt: number
    readonly missed: MissedPolicy
  },
  now: number,
): SlotPlan {
  const { lastSlotAt } = state
  const missedBefore = now - LATE_MAX_MS
  // As many as there can be: at most one slot a second, both ends included.
  const onTimeMax = LATE_MAX_MS / 1_000 + 1
  const onTime = latestSlots(timing, Math.max(lastSlotAt, missedBefore - 1), now, onTimeMax)
  const fireMax = missedToFire(state.missed)
  const missed = latestSlots(timing, lastSlotAt, missedBefore - 1, fireMax + SKIPPED_COUNT_MAX + 1)
  const skipped = missed.slice(0, Math.max(0, missed.length - fireMax))
  return {
    fire: [...missed.slice(skipped.length), ...onTime],
    skipped: describeSkipped(timing, lastSlotAt, skipped),
    nextSlotAt: nextSlot(timing, Math.max(now, lastSlotAt)),
  }
}

function missedToFire(policy: MissedPolicy): number {
  switch (policy) {
    case 'one':
      return 1
    case 'all':
      return MISSED_ALL_MAX
    case 'none':
      return 0
  }
}

/** `slots` are the latest that were skipped; when they are more than we count, there may be any number before them. */
function describeSkipped(timing: Timing, afterAt: number, slots: readonly number[]): MissedSlots[] {
  const [oldest] = slots
  const lastSlotAt = slots.at(-1)
  if (oldest === undefined || lastSlotAt === undefined) return []
  const isAll = slots.length <= SKIPPED_COUNT_MAX
  const firstSlotAt = isAll ? oldest : (nextSlot(timing, afterAt) ?? oldest)
  if (timing.kind === 'every') {
    return [{ firstSlotAt, lastSlotAt, count: (lastSlotAt - firstSlotAt) / timing.everyMs + 1, reason: 'missed' }]
  }
  return [{ firstSlotAt, lastSlotAt, count: isAll ? slots.length : null, reason: 'missed' }]
}

/** A slot, for people. */
export interface PreviewedSlot {
  readonly at: number
  /** What a clock in the zone shows, such as `2026-03-29T03:00:00+02:00`. */
  readonly local: string
  readonly note: SlotNote | null
}

/** The next `count` slots strictly after `fromAt`; fewer only when no more will come. */
export function previewSlots(timing: Timing, fromAt: number, count: number): PreviewedSlot[] {
  const zone = zoneNamed(timing.timezone)
  const previewed: PreviewedSlot[] = []
  let at = nextSlot(timing, fromAt)
  for (let left = readWhole(count, 1, PREVIEW_COUNT_MAX, 'count'); left > 0 && at !== null; left--) {
    const note = timing.kind === 'cron' ? cronSlotNote(timing, at) : null
    previewed.push({ at, local: localTime(zone, at), note })
    at = nextSlot(timing, at)
  }
  return previewed
}
