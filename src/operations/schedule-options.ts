import { PawlError } from '../domain/errors.ts'
import { invalid, readText, readWord, refuseUnknownKeys } from '../domain/options.ts'
import type { MissedPolicy, OverlapPolicy, Schedule, ScheduleTarget } from '../domain/schedule.ts'
import { readTiming, type Timing } from '../domain/slots.ts'
import { isPriority } from '../engine/enqueue.ts'
import { readStorable, readTags } from './enqueue-options.ts'
import { readJson, readName, refuseEmptyChange } from './template-options.ts'

export interface ScheduleOptions {
  /** Its Jobs have this name too. */
  readonly name: string
  /** The template of which it makes Jobs. Give this or `type`. */
  readonly templateId?: string
  /** The job type of which it makes Jobs. Give this or `templateId`. */
  readonly type?: string
  /** Five fields, six with seconds first, or a macro such as `@daily`. Give this or `everyMs`. */
  readonly cron?: string
  /** An interval of at least 1,000, counted from creation. Give this or `cron`. */
  readonly everyMs?: number
  /** The IANA zone whose clocks `cron` means. @default 'UTC' */
  readonly timezone?: string
  /** @default true */
  readonly enabled?: boolean
  /** The params of the type, or overrides over the template's default params. @default {} of a type, none of a template */
  readonly paramOverrides?: unknown
  /** What happens to slots that come more than 60 s late. @default 'one' */
  readonly missed?: MissedPolicy
  /** What happens to a slot while an earlier Job of the schedule has not settled. @default 'allow' */
  readonly overlap?: OverlapPolicy
  /** Of its Jobs. @default 0 */
  readonly priority?: number
  /** Of its Jobs. */
  readonly tags?: readonly string[]
  /** Of its Jobs. A slot that comes while another Job holds the key is skipped. */
  readonly businessKey?: string | null
}

export interface ScheduleChange extends Partial<ScheduleOptions> {
  /** The revision you decided on: when somebody changed the schedule since, or a slot came, this change is refused. */
  readonly revision?: number
}

const SCHEDULE_KEYS = [
  'name',
  'templateId',
  'type',
  'cron',
  'everyMs',
  'timezone',
  'enabled',
  'paramOverrides',
  'missed',
  'overlap',
  'priority',
  'tags',
  'businessKey',
] as const

const KEY_LENGTH_MAX = 512

/** What a schedule says, without where it stands. */
export type ScheduleDefinition = Pick<
  Schedule,
  | 'name'
  | 'target'
  | 'paramOverrides'
  | 'timing'
  | 'missed'
  | 'overlap'
  | 'priority'
  | 'tags'
  | 'businessKey'
  | 'enabled'
>

/** Checks the options of a new schedule. Whether its Jobs can be made is asked elsewhere. */
export function readScheduleOptions(options: ScheduleOptions, now: number): ScheduleDefinition {
  refuseUnknownKeys(options, SCHEDULE_KEYS, '')
  const { cron, everyMs, timezone } = options
  const target = readTarget(options)
  if (target === null) throw new PawlError('invalid_option', 'Expected `templateId` or `type`, got neither.')
  return {
    name: readName(options.name),
    target,
    paramOverrides: target.kind === 'type' ? {} : null,
    timing: readTiming({ cron, everyMs, timezone, anchorAt: now }),
    missed: 'one',
    overlap: 'allow',
    priority: 0,
    tags: [],
    businessKey: null,
    enabled: true,
    ...readGiven(options),
  }
}

/** The definition after a change. What the change does not name stays as it is. */
export function readScheduleChange(options: ScheduleChange, current: Schedule, now: number): ScheduleDefinition {
  refuseUnknownKeys(options, [...SCHEDULE_KEYS, 'revision'], '')
  refuseEmptyChange(options, SCHEDULE_KEYS)
  const target = readTarget(options) ?? current.target
  return {
    ...current,
    ...(options.name !== undefined && { name: readName(options.name) }),
    target,
    // Overrides of a template are no params of a type, nor the reverse.
    ...(target.kind !== current.target.kind && { paramOverrides: target.kind === 'type' ? {} : null }),
    timing: readNewTiming(options, current.timing, now),
    ...readGiven(options),
  }
}

function readTarget({ templateId, type }: Partial<ScheduleOptions>): ScheduleTarget | null {
  if (templateId !== undefined && type !== undefined) {
    throw new PawlError('invalid_option', 'Expected `templateId` or `type`, got both.', { path: 'type' })
  }
  if (templateId !== undefined) return { kind: 'template', templateId: readText(templateId, 'templateId') }
  return type === undefined ? null : { kind: 'type', type: readText(type, 'type') }
}

/** A new interval counts from the change; one that stays as it is goes on counting. */
function readNewTiming({ cron, everyMs, timezone }: Partial<ScheduleOptions>, current: Timing, now: number): Timing {
  if (cron === undefined && everyMs === undefined && timezone === undefined) return current
  const timing = readTiming({
    ...(cron === undefined && everyMs === undefined
      ? current.kind === 'cron'
        ? { cron: current.expression }
        : { everyMs: current.everyMs }
      : { cron, everyMs }),
    timezone: timezone ?? current.timezone,
    anchorAt: now,
  })
  const isSameInterval = timing.kind === 'every' && current.kind === 'every' && timing.everyMs === current.everyMs
  return isSameInterval ? { ...timing, anchorAt: current.anchorAt } : timing
}

function readGiven(options: Partial<ScheduleOptions>): Partial<ScheduleDefinition> {
  const { enabled, paramOverrides, missed, overlap, priority, tags, businessKey } = options
  if (enabled !== undefined && typeof enabled !== 'boolean') throw invalid('enabled', 'true or false', enabled)
  if (priority !== undefined && !isPriority(priority)) throw invalid('priority', 'a whole number of 32 bits', priority)
  return {
    ...(enabled !== undefined && { enabled }),
    ...(paramOverrides !== undefined && { paramOverrides: readJson(paramOverrides, 'paramOverrides') }),
    ...(missed !== undefined && { missed: readWord(missed, ['one', 'all', 'none'], 'missed') }),
    ...(overlap !== undefined && { overlap: readWord(overlap, ['allow', 'skip', 'queue-one'], 'overlap') }),
    ...(priority !== undefined && { priority }),
    ...(tags !== undefined && { tags: readTags(tags) }),
    ...(businessKey !== undefined && {
      businessKey: businessKey === null ? null : readStorable(businessKey, 'businessKey', KEY_LENGTH_MAX),
    }),
  }
}

/** The first slot from now on. An expression that has none, such as 30 February, is a mistake. */
export function firstSlotOf(timing: Timing, slot: number | null): number {
  if (slot !== null) return slot
  throw new PawlError(
    'invalid_option',
    `Expected \`cron\` to have a slot some day, but \`${timing.kind === 'cron' ? timing.expression : timing.everyMs}\` never has one.`,
    { path: 'cron' },
  )
}
