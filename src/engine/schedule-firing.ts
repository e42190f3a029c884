import { type ErrorCode, PawlError } from '../domain/errors.ts'
import type { Schedule, SkippedSlots } from '../domain/schedule.ts'
import { planSlots, type SlotPlan } from '../domain/slots.ts'
import { mergeParams, type Template } from '../domain/template.ts'
import type { IdSource } from '../platform/ids.ts'
import type { NewJob } from '../store/jobs.ts'
import type { SlotFiring } from '../store/schedules.ts'
import type { TemplateStore } from '../store/templates.ts'
import { type AcceptedType, type EnqueueRequest, prepareJob } from './enqueue.ts'

/** What the Jobs of a schedule are made with. */
export interface FiringParts {
  readonly store: Pick<TemplateStore, 'findTemplate'>
  readonly types: { get(type: string): AcceptedType | Promise<AcceptedType> }
  readonly newId: IdSource
}

/**
 * `unchecked`: the schema of its type did not answer, which may pass. The firing is whole all the same, with the params as
 * they are. `broken`: no slot of this schedule can make a Job until somebody changes something.
 */
export type PreparedFiring =
  | { readonly kind: 'ready'; readonly firing: SlotFiring }
  | { readonly kind: 'unchecked'; readonly firing: SlotFiring; readonly reason: string }
  | { readonly kind: 'broken'; readonly reason: string }

/** Decides what to do about the slots that are due, and makes their Jobs ready to be written. Writes nothing. */
export async function prepareFiring(parts: FiringParts, schedule: Schedule, now: number): Promise<PreparedFiring> {
  let plan: SlotPlan
  try {
    plan = planSlots(schedule.timing, { lastSlotAt: Math.min(schedule.lastSlotAt, now), missed: schedule.missed }, now)
  } catch (error) {
    return { kind: 'broken', reason: error instanceof Error ? error.message : String(error) }
  }
  try {
    const { slots, fault } = await prepareSlots(parts, schedule, plan.fire)
    const firing = toFiring(schedule, plan, slots, now)
    return fault === null ? { kind: 'ready', firing } : { kind: 'unchecked', firing, reason: fault }
  } catch (error) {
    if (error instanceof PawlError && BREAKING.has(error.code)) return { kind: 'broken', reason: error.message }
    throw error
  }
}

/** Errors that are the schedule's own, and stay until somebody changes something. Any other may pass. */
const BREAKING: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'params_too_large',
  'template_archived',
  'template_not_found',
  'unknown_type',
  'unserialisable_params',
])

function toFiring(schedule: Schedule, plan: SlotPlan, slots: SlotFiring['slots'], now: number): SlotFiring {
  const { scheduleId, revision, overlap } = schedule
  const skipped: SkippedSlots[] = [...plan.skipped]
  let lastSlotAt = Math.max(schedule.lastSlotAt, plan.skipped.at(-1)?.lastSlotAt ?? 0, plan.fire.at(-1) ?? 0)
  if (lastSlotAt > now) {
    // The clock was ahead when these slots were handled. They come again, and those that made a Job are passed over.
    skipped.push({ firstSlotAt: now, lastSlotAt, count: null, reason: 'clock-set-back' })
    lastSlotAt = now
  }
  return { scheduleId, revision, overlap, slots, skipped, lastSlotAt, nextSlotAt: plan.nextSlotAt }
}

/** The Jobs of one schedule differ only in their slots: what is dear about them is done once. */
async function prepareSlots(
  parts: FiringParts,
  schedule: Schedule,
  instants: readonly number[],
): Promise<{ readonly slots: SlotFiring['slots']; readonly fault: string | null }> {
  if (instants.length === 0) return { slots: [], fault: null }
  const { job, fault } = await prepareSlotJob(parts, schedule)
  return { slots: instants.map((slotAt) => ({ slotAt, job: { ...job, jobId: parts.newId(), slotAt } })), fault }
}

/**
 * A Job of this schedule for its slots. Nobody is there to whom params that the schema refuses could be told, and the schema
 * of another node may take them: the Job is made with the params as they are, and is checked where it runs.
 */
async function prepareSlotJob(
  parts: FiringParts,
  schedule: Schedule,
): Promise<{ readonly job: NewJob; readonly fault: string | null }> {
  const { request, accepted } = await requestOf(parts, schedule)
  try {
    return { job: await prepareJob(request, accepted, parts.newId()), fault: null }
  } catch (error) {
    // Params that cannot be stored are refused here too.
    const job = await prepareJob(request, { ...accepted, handler: null }, parts.newId())
    return { job, fault: isRefusal(error) ? null : threwMessage(request.type, error) }
  }
}

const REFUSALS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'invalid_params',
  'params_too_large',
  'unserialisable_params',
])

/** The schema has answered: it refuses the params, or makes of them what cannot be stored. */
function isRefusal(error: unknown): boolean {
  return error instanceof PawlError && REFUSALS.has(error.code)
}

/** A Job of this schedule, for no slot. Throws what keeps the schedule from making one. */
export async function prepareScheduledJob(parts: FiringParts, schedule: Schedule): Promise<NewJob> {
  const { request, accepted } = await requestOf(parts, schedule)
  try {
    return await prepareJob(request, accepted, parts.newId())
  } catch (error) {
    if (error instanceof PawlError) throw error
    throw new PawlError('invalid_params', threwMessage(request.type, error), { path: 'params', cause: error })
  }
}

function threwMessage(type: string, thrown: unknown): string {
  return `The params schema of job type \`${type}\` threw: ${textOf(thrown)}`
}

/** Code of others can throw anything, also what has no text. */
function textOf(thrown: unknown): string {
  try {
    return String(thrown)
  } catch {
    return 'something that cannot be described'
  }
}

async function requestOf(
  parts: FiringParts,
  schedule: Schedule,
): Promise<{ readonly request: EnqueueRequest; readonly accepted: AcceptedType }> {
  const template = schedule.target.kind === 'template' ? await usableTemplate(parts, schedule.target.templateId) : null
  const request = toRequest(schedule, template)
  return { request, accepted: await parts.types.get(request.type) }
}

/** A template from which Jobs may be made. */
export async function usableTemplate({ store }: Pick<FiringParts, 'store'>, templateId: string): Promise<Template> {
  const template = await store.findTemplate(templateId)
  const about = { path: 'templateId', details: { templateId } }
  if (template === null) throw new PawlError('template_not_found', `There is no template ${templateId}.`, about)
  if (template.archivedAt === null) return template
  throw new PawlError(
    'template_archived',
    `Template \`${template.name}\` (${templateId}) is archived; no new jobs can be made from it. Use another one.`,
    about,
  )
}

function toRequest(schedule: Schedule, template: Template | null): EnqueueRequest {
  const { target, paramOverrides, name, priority, tags, businessKey, scheduleId } = schedule
  return {
    type: template?.type ?? (target.kind === 'type' ? target.type : ''),
    params: template === null ? paramOverrides : mergeParams(template.defaultParams, paramOverrides),
    name,
    priority,
    tags,
    businessKey,
    scheduleId,
    slotAt: null,
    templateId: template?.templateId ?? null,
    retry: template?.retry == null ? [] : [template.retry],
    timeoutMs: template?.timeoutMs,
    createdBy: 'schedule',
    runAt: null,
    idempotencyKey: null,
    dependsOn: [],
    onParentFailure: 'cancel',
    webhookUrl: null,
  }
}
