import type { JsonValue } from './json.ts'
import type { MissedPolicy, Timing } from './slots.ts'

export type { MissedPolicy }

/**
 * What happens to a slot while an earlier chain of the schedule is live: its Job is made all the same, it is skipped, or one
 * Job waits behind all live chains and further slots are skipped.
 */
export type OverlapPolicy = 'allow' | 'skip' | 'queue-one'

/** What a schedule makes a Job from. */
export type ScheduleTarget =
  | { readonly kind: 'template'; readonly templateId: string }
  | { readonly kind: 'type'; readonly type: string }

/** When to make Jobs of what. */
export interface Schedule {
  readonly scheduleId: string
  readonly name: string
  readonly target: ScheduleTarget
  /** Params of the type, or overrides over the template's defaults. */
  readonly paramOverrides: JsonValue
  readonly timing: Timing
  readonly missed: MissedPolicy
  readonly overlap: OverlapPolicy
  readonly priority: number
  readonly tags: readonly string[]
  readonly businessKey: string | null
  readonly enabled: boolean
  /** Why it was disabled, when it was not a person who did. */
  readonly disabledReason: string | null
  /** Grows with each change and each slot. */
  readonly revision: number
  readonly createdAt: number
  readonly updatedAt: number
  /** Slots not after this instant never fire. */
  readonly lastSlotAt: number
  /** Null: disabled, or no further slot. */
  readonly nextSlotAt: number | null
  /** When it last made a Job, also by hand. */
  readonly lastTriggeredAt: number | null
}

export type SkipReason =
  /** More than 60 s late, and the policy said no. */
  | 'missed'
  /** An earlier chain of the schedule was live. */
  | 'overlap'
  /** Another chain held the schedule's business key. */
  | 'business-key-taken'
  /** The clock had been ahead and was set back. */
  | 'clock-set-back'

/** Slots that made no Job. */
export interface SkippedSlots {
  readonly firstSlotAt: number
  readonly lastSlotAt: number
  /** Null: more than was worth counting. */
  readonly count: number | null
  readonly reason: SkipReason
}

/**
 * Whether a slot makes a Job, given what the schedule's earlier chains do. `make-behind`: one that waits until they have
 * settled, however they end.
 */
export function decideOverlap(
  overlap: OverlapPolicy,
  earlier: { readonly hasLive: boolean; readonly hasWaiting: boolean },
): 'make' | 'make-behind' | 'skip' {
  switch (overlap) {
    case 'allow':
      return 'make'
    case 'skip':
      return earlier.hasLive ? 'skip' : 'make'
    case 'queue-one':
      if (earlier.hasWaiting) return 'skip'
      return earlier.hasLive ? 'make-behind' : 'make'
  }
}
