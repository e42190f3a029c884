import type { z } from 'zod'
import { PawlError } from '../../domain/errors.ts'
import type { Job } from '../../domain/job.ts'
import { mayActAs } from '../../domain/role.ts'
import type { Schedule } from '../../domain/schedule.ts'
import type { PreviewedSlot } from '../../domain/slots.ts'
import { wireInstant, wireJob } from '../../domain/wire.ts'
import { changeSchedule, disableSchedule, enableSchedule } from '../../operations/change-schedule.ts'
import { createSchedule } from '../../operations/create-schedule.ts'
import { previewSchedule, previewTiming } from '../../operations/preview-schedule.ts'
import { getJob, listJobs } from '../../operations/read-history.ts'
import { getSchedule, listSchedules, listSkippedSlots } from '../../operations/read-schedules.ts'
import { removeSchedule } from '../../operations/remove-schedule.ts'
import { triggerSchedule } from '../../operations/trigger-schedule.ts'
import type { RecordedSkip } from '../../store/schedules.ts'
import * as contract from '../contract/schedules.ts'
import { created, done, ok } from './answer.ts'
import { dateOf, given } from './given.ts'
import { type Actor, type Call, type Route, route } from './handler.ts'
import { createdJob } from './job-answers.ts'
import { okPage, pageOptions } from './pages.ts'
import { expectedRevision, revisionTag } from './versions.ts'

function wireSchedule(schedule: Schedule) {
  const { target, timing } = schedule
  return {
    schedule_id: schedule.scheduleId,
    name: schedule.name,
    template_id: target.kind === 'template' ? target.templateId : null,
    type: target.kind === 'type' ? target.type : null,
    cron: timing.kind === 'cron' ? timing.expression : null,
    every_ms: timing.kind === 'every' ? timing.everyMs : null,
    timezone: timing.timezone,
    enabled: schedule.enabled,
    disabled_reason: schedule.disabledReason,
    param_overrides: schedule.paramOverrides,
    missed: schedule.missed,
    overlap: schedule.overlap,
    priority: schedule.priority,
    tags: schedule.tags,
    business_key: schedule.businessKey,
    revision: schedule.revision,
    created_at: wireInstant(schedule.createdAt),
    updated_at: wireInstant(schedule.updatedAt),
    last_slot_at: wireInstant(schedule.lastSlotAt),
    next_trigger_at: wireInstant(schedule.nextSlotAt),
    last_triggered_at: wireInstant(schedule.lastTriggeredAt),
  }
}

function wireLatest(job: Job) {
  const { job_id, status, hold, outcome, attempt, slot_at, created_at, cancel_requested_at } = wireJob(job)
  return { job_id, status, hold, outcome, attempt, slot_at, created_at, cancel_requested_at }
}

function wireSlot({ at, local, note }: PreviewedSlot) {
  return { at: wireInstant(at), local, note }
}

function wireSkip({ firstSlotAt, lastSlotAt, count, reason, at }: RecordedSkip) {
  return {
    first_slot_at: wireInstant(firstSlotAt),
    last_slot_at: wireInstant(lastSlotAt),
    count,
    reason,
    at: wireInstant(at),
  }
}

function toOptions(body: z.output<typeof contract.changeSchedule.body>) {
  const { name, template_id, type, cron, cron_expression, every_ms, timezone, enabled } = body
  const { param_overrides, missed, overlap, priority, tags, business_key } = body
  return given({
    name,
    templateId: template_id,
    type,
    cron: cron ?? cron_expression,
    everyMs: every_ms,
    timezone,
    enabled,
    paramOverrides: param_overrides,
    missed,
    overlap,
    priority,
    tags,
    businessKey: business_key,
  })
}

/** Who runs things may switch a schedule off and on; what it makes, and when, is for those who set things up. */
function refuseOtherThanSwitch(actor: Actor, body: object): void {
  const others = Object.keys(body).filter((name) => name !== 'enabled')
  if (others.length === 0 || mayActAs(actor.role, 'admin')) return
  throw new PawlError(
    'forbidden',
    `Expected the role \`admin\` to change \`${others[0]}\` of a schedule, but ${actor.name} is \`${actor.role}\`, which may change only \`enabled\`.`,
  )
}

/** A switch that stands as it should is left as it is. */
function change({ context, params, body, ifMatch }: Call<typeof contract.changeSchedule>): Promise<Schedule> {
  const { enabled, ...others } = body
  if (ifMatch === null && enabled !== undefined && Object.keys(others).length === 0) {
    return enabled ? enableSchedule(context, params.schedule_id) : disableSchedule(context, params.schedule_id)
  }
  return changeSchedule(context, params.schedule_id, { ...toOptions(body), ...expectedRevision(ifMatch) })
}

export const scheduleRoutes: readonly Route[] = [
  route(contract.createSchedule, async ({ context, body }) => {
    const schedule = await createSchedule(context, { ...toOptions(body), name: body.name })
    return created(wireSchedule(schedule), `/api/schedules/${schedule.scheduleId}`, revisionTag(schedule))
  }),

  route(contract.listSchedules, async ({ context, query }) => {
    const page = await listSchedules(context, { ...pageOptions(query), ...given({ enabled: query.enabled }) })
    const { latest_jobs: limit } = query
    if (limit === undefined) return okPage(page, wireSchedule)
    const latest = new Map<string, readonly Job[]>()
    for (const { scheduleId } of page.items) {
      latest.set(scheduleId, (await listJobs(context, { scheduleId, limit })).items)
    }
    return okPage(page, (schedule) => ({
      ...wireSchedule(schedule),
      latest_jobs: latest.get(schedule.scheduleId)?.map(wireLatest) ?? [],
    }))
  }),

  route(contract.getSchedule, async ({ context, params }) => {
    const schedule = await getSchedule(context, params.schedule_id)
    return ok(wireSchedule(schedule), revisionTag(schedule))
  }),

  route(contract.changeSchedule, async (call) => {
    refuseOtherThanSwitch(call.actor, call.body)
    const schedule = await change(call)
    return ok(wireSchedule(schedule), revisionTag(schedule))
  }),

  route(contract.removeSchedule, async ({ context, params, ifMatch }) => {
    await removeSchedule(context, params.schedule_id, expectedRevision(ifMatch))
    return done()
  }),

  route(contract.triggerSchedule, async ({ context, actor, params }) => {
    const { jobId } = await triggerSchedule(context, params.schedule_id, { createdBy: actor.name })
    return createdJob(await getJob(context, jobId))
  }),

  route(contract.previewSchedule, async ({ context, params, query }) => {
    const range = given({ count: query.count, from: dateOf(query.from) })
    const { items } = await previewSchedule(context, params.schedule_id, range)
    return ok({ items: items.map(wireSlot) })
  }),

  route(contract.previewTiming, async ({ context, body }) => {
    const { cron, cron_expression, every_ms, timezone, count, from } = body
    const timing = given({ cron: cron ?? cron_expression, everyMs: every_ms, timezone, count, from: dateOf(from) })
    return ok({ items: previewTiming(timing, context.clock.now()).items.map(wireSlot) })
  }),

  route(contract.listSkippedSlots, async ({ context, params, query }) =>
    okPage(await listSkippedSlots(context, params.schedule_id, pageOptions(query)), wireSkip),
  ),
]
