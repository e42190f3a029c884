import type { OverlapPolicy, Schedule, SkippedSlots } from '../domain/schedule.ts'
import type { EnqueueConflict, EnqueuedItem, NewJob, Page } from './jobs.ts'

/** One slot with the Job it is to make. */
export interface Slot {
  readonly slotAt: number
  /** Its `scheduleId` and `slotAt` are those of this slot. */
  readonly job: NewJob
}

/** All slots of a schedule that are due, and where it goes on from there: one transaction. */
export interface SlotFiring {
  readonly scheduleId: string
  /** The revision this was decided on. */
  readonly revision: number
  readonly overlap: OverlapPolicy
  /** Oldest first. Whether each makes a Job is decided inside the transaction, by the chains that are live then. */
  readonly slots: readonly Slot[]
  readonly skipped: readonly SkippedSlots[]
  readonly lastSlotAt: number
  readonly nextSlotAt: number | null
}

export type FiringResult =
  | { readonly kind: 'fired'; readonly jobIds: readonly string[]; readonly skipped: readonly SkippedSlots[] }
  /** Somebody else fired or changed it since: nothing was written. */
  | { readonly kind: 'stale' }
  /** The template was archived meanwhile: nothing was written. */
  | { readonly kind: 'template-archived' }

export type TriggerResult =
  | EnqueuedItem
  | { readonly kind: 'refused'; readonly conflict: EnqueueConflict }
  | { readonly kind: 'not-found' }

export interface ScheduleFilter {
  readonly enabled?: boolean
  readonly limit: number
  readonly cursor?: string | null
}

/** The latest so many records of skipped slots are kept of each schedule. */
export const SKIPS_KEPT_MAX = 1_000

/** A skip as it is stored. Slots that are skipped one after the other for the same reason become one record. */
export interface RecordedSkip extends SkippedSlots {
  /** When the last of them was skipped. */
  readonly at: number
}

export interface ScheduleStore {
  createSchedule(schedule: Schedule): Promise<void>

  /** The same, unless one was declared under this name before: then that one is returned, as it is. */
  declareSchedule(name: string, schedule: Schedule): Promise<Schedule>

  findSchedule(scheduleId: string): Promise<Schedule | null>

  /** Newest first. */
  listSchedules(filter: ScheduleFilter): Promise<Page<Schedule>>

  /** Enabled schedules whose next slot has come, the most overdue first. */
  findDueSchedules(now: number, limit: number): Promise<readonly Schedule[]>

  /** Enabled schedules that were planned or fired at an instant after this one: the clock has been set back since. */
  findSchedulesPlannedAfter(instant: number, limit: number): Promise<readonly Schedule[]>

  /** When the next slot of any schedule comes, or null. */
  nextSlotAt(): Promise<number | null>

  /**
   * Makes the Jobs of due slots and moves each schedule on, one transaction each. A slot makes at most one Job, whoever
   * fires it and however often: a slot that has its Job already is passed over, one whose schedule has a live chain
   * follows `overlap`, and one whose business key is taken is skipped and recorded. A Job of `queue-one` depends on all
   * chains of the schedule that are live, or the newest `PARENTS_MAX` of them, and runs however they end.
   */
  fireSlots(firings: readonly SlotFiring[], now: number): Promise<readonly FiringResult[]>

  /**
   * Replaces the definition of a schedule. Slots that are due by the old definition are fired in the same transaction.
   * The firing may be empty; its revision is the one that the change was decided on.
   */
  changeSchedule(change: {
    readonly firing: SlotFiring
    readonly schedule: Schedule
    readonly now: number
  }): Promise<FiringResult | { readonly kind: 'not-found' }>

  /** A schedule that cannot go on. `stale`: it was changed since that revision. */
  disableSchedule(request: {
    readonly scheduleId: string
    readonly revision: number
    readonly reason: string
    readonly now: number
  }): Promise<'disabled' | 'stale'>

  /** Its Jobs stay. `stale`: it is not at that revision. */
  removeSchedule(scheduleId: string, revision?: number | null): Promise<'removed' | 'stale' | 'not-found'>

  /** Makes one Job now, without moving any slot. */
  triggerSchedule(scheduleId: string, job: NewJob, now: number): Promise<TriggerResult>

  /** Slots that made no Job, newest first, as far as they are kept. */
  listSkippedSlots(scheduleId: string, limit: number, cursor?: string | null): Promise<Page<RecordedSkip>>
}
