import { invalid, readWhole, refuseUnknownKeys } from '../domain/options.ts'
import { nextSlot, PREVIEW_COUNT_MAX, type PreviewedSlot, previewSlots, readTiming } from '../domain/slots.ts'
import type { OperationContext } from './context.ts'
import { getSchedule } from './read-schedules.ts'
import { firstSlotOf } from './schedule-options.ts'

export interface PreviewRange {
  /** How many slots, 1 to 100. @default 10 */
  readonly count?: number
  /** Slots after this instant: a Date, or epoch milliseconds. @default now */
  readonly from?: Date | number
}

export interface PreviewOptions extends PreviewRange {
  /** Five fields, six with seconds first, or a macro such as `@daily`. Give this or `everyMs`. */
  readonly cron?: string
  /** An interval of at least 1,000, counted from `from`. Give this or `cron`. */
  readonly everyMs?: number
  /** @default 'UTC' */
  readonly timezone?: string
}

export interface SchedulePreview {
  /** In order. Fewer than asked for only when no more will come. */
  readonly items: readonly PreviewedSlot[]
}

const RANGE_KEYS = ['count', 'from'] as const
const COUNT_DEFAULT = 10

/** The slots that a schedule with this timing would have. Nothing is stored, and no store is needed. */
export function previewTiming(options: PreviewOptions, now: number): SchedulePreview {
  refuseUnknownKeys(options, ['cron', 'everyMs', 'timezone', ...RANGE_KEYS], '')
  const { cron, everyMs, timezone } = options
  const { count, fromAt } = readRange(options, now)
  const timing = readTiming({ cron, everyMs, timezone, anchorAt: fromAt })
  const items = previewSlots(timing, fromAt, count)
  // None may be left before the end of time; but what never had one is a mistake, as it is where a schedule is made.
  if (items.length === 0) firstSlotOf(timing, nextSlot(timing, now))
  return { items }
}

/** The next slots of a stored schedule, also of a disabled one: those it would have. */
export async function previewSchedule(
  context: OperationContext,
  scheduleId: string,
  options: PreviewRange = {},
): Promise<SchedulePreview> {
  refuseUnknownKeys(options, RANGE_KEYS, '')
  const { count, fromAt } = readRange(options, context.clock.now())
  const { timing } = await getSchedule(context, scheduleId)
  return { items: previewSlots(timing, fromAt, count) }
}

/** The last instant that a Date can hold. */
const INSTANT_MAX = 8_640_000_000_000_000

function readRange({ count = COUNT_DEFAULT, from }: PreviewRange, now: number): { count: number; fromAt: number } {
  const fromAt = from instanceof Date ? from.getTime() : (from ?? now)
  if (!Number.isInteger(fromAt) || Math.abs(fromAt) > INSTANT_MAX) {
    throw invalid('from', 'a valid Date or epoch milliseconds', from)
  }
  return { count: readWhole(count, 1, PREVIEW_COUNT_MAX, 'count'), fromAt }
}
