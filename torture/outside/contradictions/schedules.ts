import type { StoredJob } from '../history.ts'
import type { ScheduleLife } from '../record.ts'
import { byKey, type Facts, TOLERANCE_MS } from './facts.ts'

/**
 * I9. Each slot from the making of a schedule until it was switched off has made one Job, or was skipped because of its
 * policy; none came early, and nothing came that is no slot.
 */
export function* slotsMadeOneJobEach(facts: Facts): Iterable<string> {
  const { recorded, history } = facts.evidence
  const made = byKey(
    facts.timedChains.map(({ first }) => first),
    ({ scheduleId }) => scheduleId,
  )
  for (const life of recorded.schedules) {
    const stored = history.schedules.find(({ scheduleId }) => scheduleId === life.scheduleId)
    if (stored === undefined) {
      yield `I1: schedule ${life.scheduleId} was acknowledged and does not exist.`
      continue
    }
    const jobs = made.get(life.scheduleId) ?? []
    const isSkipped = (slot: number) => stored.skipped.some(({ from, to }) => from <= slot && slot <= to)
    yield* oddSlots(life, jobs, life.anchorAt ?? stored.anchorAt)
    yield* missingSlots(life, jobs, life.anchorAt ?? stored.anchorAt, isSkipped)
    if (life.overlap === 'allow' && stored.skipped.length > 0)
      yield `I9: schedule ${life.scheduleId} skipped slots: ${JSON.stringify(stored.skipped[0])}.`
  }
}

function* oddSlots({ scheduleId, everyMs }: ScheduleLife, jobs: readonly StoredJob[], anchorAt: number) {
  for (const [slot, same] of byKey(jobs, ({ slotAt }) => slotAt)) {
    const ids = same.map(({ jobId }) => jobId).join(', ')
    if (same.length > 1) yield `I9: the slot ${slot} of schedule ${scheduleId} made ${same.length} Jobs: ${ids}.`
    if (slot === null || (slot - anchorAt) % everyMs !== 0)
      yield `I9: Job ${ids} of schedule ${scheduleId} is of ${slot}, which is no slot.`
    for (const { jobId, createdAt } of same) {
      if (slot !== null && createdAt < slot - TOLERANCE_MS)
        yield `I9: Job ${jobId} of schedule ${scheduleId} came ${slot - createdAt} ms before its slot.`
    }
  }
}

function* missingSlots(
  { scheduleId, everyMs, createdBefore, enabledUntil, disabledBefore }: ScheduleLife,
  jobs: readonly StoredJob[],
  anchorAt: number,
  isSkipped: (slot: number) => boolean,
): Iterable<string> {
  const slots = new Set(jobs.map(({ slotAt }) => slotAt))
  const first = anchorAt + Math.ceil((createdBefore + TOLERANCE_MS - anchorAt) / everyMs) * everyMs
  for (let slot = first; slot <= enabledUntil - TOLERANCE_MS; slot += everyMs) {
    if (!slots.has(slot) && !isSkipped(slot)) yield `I9: the slot ${slot} of schedule ${scheduleId} made no Job.`
  }
  for (const slot of slots) {
    if (slot !== null && slot > disabledBefore + TOLERANCE_MS)
      yield `I9: the slot ${slot} of schedule ${scheduleId} made a Job after it was switched off.`
  }
}
