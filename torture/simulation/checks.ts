import type { Job, Run } from 'pawl'
import { isAskedFor } from './client.ts'
import type { Conditions } from './conditions.ts'
import { BACKOFF_MS, followUpOf, LIMITED, PAIR_MAX, RESOURCES } from './job-types.ts'
import type { Stored } from './stored.ts'
import type { Asked, Body, Order, Witness } from './witness.ts'

export interface Evidence {
  readonly stored: Stored
  readonly witness: Witness
  readonly conditions: Conditions
  /** How many schedules were made. */
  readonly schedules: number
  readonly isDrained: boolean
}

/** Everything in which what was seen from outside contradicts what is stored, one sentence each. */
export function findContradictions(evidence: Evidence): string[] {
  return [...evidence.stored.faults, ...CHECKS.flatMap((check) => [...check(evidence)]).slice(0, 30)]
}

type Check = (evidence: Evidence) => Iterable<string>

const CHECKS: readonly Check[] = [
  acceptedJobsExist,
  onlyWhatWasAskedForExists,
  followUpsCameWithOutcomes,
  bodiesBelongToRuns,
  runsHaveCauses,
  retriesAreCharged,
  limitsHeld,
  keysHeld,
  nothingBeganAfterItsCancel,
  nothingFollowedACancel,
  nothingBeganEarly,
  slotsWereNotEarly,
  slotsWereNotLost,
  messagesWereSent,
  directAnswersAreTrue,
]

const orderOf = (job: Job): Order => job.params as unknown as Order

/** Whether history may have been removed. */
const isPruned = ({ witness }: Evidence): boolean => witness.isPruned

function* acceptedJobsExist(evidence: Evidence): Iterable<string> {
  const { witness, stored } = evidence
  for (const { n, kind, type, answer } of witness.asked.values()) {
    if (kind !== 'job' || answer?.kind !== 'accepted') continue
    const job = stored.jobOf.get(answer.jobId)
    if (job === undefined) {
      if (!isPruned(evidence)) yield `I1: request ${n} was accepted as ${answer.jobId}, which does not exist.`
    } else if (orderOf(job).n !== n || job.type !== type || job.attempt !== 1) {
      yield `I1: request ${n} was accepted as ${answer.jobId}, which is attempt ${job.attempt} of ${orderOf(job).n}.`
    }
  }
}

function* onlyWhatWasAskedForExists({ witness, stored, schedules }: Evidence): Iterable<string> {
  const chains = new Map<number, Set<string>>()
  for (const job of stored.jobs) {
    const { n } = orderOf(job)
    if (!isAskedFor(n, witness.asked, schedules)) yield `I2: job ${job.jobId} (${n}) was never asked for.`
    const ids = chains.get(n) ?? new Set()
    chains.set(n, ids.add(job.chainId))
  }
  for (const [n, ids] of chains) {
    if (n < 2_000_000 && ids.size > 1) yield `I2, I10: request ${n} made ${ids.size} chains: ${[...ids].join(', ')}.`
    const asked = witness.asked.get(n)
    if (asked?.answer?.kind === 'refused' && asked.refusals === asked.times)
      yield `I2: request ${n} was refused (${asked.answer.code}), but made ${[...ids].join(', ')}.`
  }
}

function* followUpsCameWithOutcomes(evidence: Evidence): Iterable<string> {
  const { stored, witness } = evidence
  if (isPruned(evidence)) return
  const lastOf = new Map<string, Job>()
  for (const job of stored.jobs) {
    if ((lastOf.get(job.chainId)?.attempt ?? 0) < job.attempt) lastOf.set(job.chainId, job)
  }
  const made = new Map<number, number>()
  for (const job of lastOf.values()) made.set(orderOf(job).n, (made.get(orderOf(job).n) ?? 0) + 1)
  for (const job of lastOf.values()) {
    const { n, does } = orderOf(job)
    if (does !== 'spawns') continue
    const expected = job.status === 'FINISHED' && job.outcome === 'COMPLETED' ? 1 : 0
    const came = made.get(followUpOf(n)) ?? 0
    if (came !== expected)
      yield `One transaction: job ${job.jobId} (${n}) is ${job.status} ${job.outcome}, but has ${came} follow-ups.`
  }
  for (const asked of witness.asked.values()) {
    if (asked.kind === 'direct' && asked.order.does !== 'spawns' && made.has(followUpOf(asked.n)))
      yield `I2: direct execution ${asked.n} has a follow-up that nobody made.`
  }
}

function* bodiesBelongToRuns(evidence: Evidence): Iterable<string> {
  const { stored, witness } = evidence
  const begun = new Map<string, Body>()
  for (const body of witness.bodies) {
    const other = begun.get(body.jobId)
    if (other !== undefined)
      yield `I4: two bodies of ${body.jobId} (${body.n}) began, on ${other.process.name} and ${body.process.name}.`
    begun.set(body.jobId, body)
    if (isDirect(body, witness)) continue
    const run = stored.runs.get(body.jobId)
    if (run === undefined) {
      if (!isPruned(evidence)) yield `I5: a body of ${body.jobId} (${body.n}) began, but the job has no Run.`
    } else if (run.runId !== body.runId) {
      yield `I5: a body of ${body.jobId} (${body.n}) began for Run ${body.runId}, but the job has ${run.runId}.`
    } else if (JSON.stringify(run.paramsSnapshot) !== body.params) {
      yield `I7: a body of ${body.jobId} got ${body.params}, but its Run says ${JSON.stringify(run.paramsSnapshot)}.`
    }
  }
}

function isDirect({ n }: Body, witness: Witness): boolean {
  return witness.asked.get(n)?.kind === 'direct'
}

/** A Run ended as its body did, or for a reason that really was there. */
function* runsHaveCauses(evidence: Evidence): Iterable<string> {
  const { stored, witness } = evidence
  const bodyOf = new Map(witness.bodies.map((body) => [body.runId, body]))
  for (const run of stored.runs.values()) {
    const body = bodyOf.get(run.runId)
    const job = stored.jobOf.get(run.jobId)
    const complaint = complaintAbout(run, body, job, evidence)
    if (complaint !== null)
      yield `I16: Run ${run.runId} of ${run.jobId} (${orderOf({ params: run.paramsSnapshot } as unknown as Job).n}) is ${run.status} ${run.reason ?? ''}, but ${complaint}.`
  }
}

function complaintAbout(
  run: Run,
  body: Body | undefined,
  job: Job | undefined,
  { witness, isDrained }: Evidence,
): string | null {
  const process = body?.process
  switch (run.reason) {
    case null:
      if (run.status === null) return isDrained ? 'nothing is left to do' : null
      if (run.status === 'SKIPPED') return body === undefined || body.how === 'skipped' ? null : `its body ${body.how}`
      if (body === undefined) return 'no body began'
      // Its answer may have come back after its process was gone.
      return body.how === 'returned' || (body.process.isGone && body.how === null) ? null : `its body ${body.how}`
    case 'crash':
      // Without a body, the answer to its claim got lost, or its process died before it began.
      if (process === undefined) return null
      return process.flaws.size > 0 ? null : `its process ${process.name} was never disturbed`
    case 'error':
      return body?.how === 'threw' ? null : `its body ${body?.how ?? 'never began'}`
    case 'timeout':
      return run.type === 'brief' ? null : 'its type has no timeout'
    case 'shutdown':
      // Without a body, its process was told to close before it had the answer to its claim.
      if (process === undefined) return null
      return process.isClosing ? null : 'its process was not closed'
    case 'cancelled':
      return job === undefined || wasAbortWanted(job, witness) ? null : 'nobody wanted an abort'
    case 'invalid-params':
    case 'unserialisable-result':
    case 'result-too-large':
      return 'that cannot happen here'
  }
}

/** I4. Each retry is charged to the budget of what it follows; only one that somebody asked for begins anew. */
function* retriesAreCharged({ stored, conditions }: Evidence): Iterable<string> {
  const canBeginAnew = conditions.wishes.retry > 0
  for (const { jobId, retryOf, counts } of stored.jobs) {
    const before = retryOf === null ? undefined : stored.jobOf.get(retryOf)
    const reason = before === undefined ? undefined : stored.runs.get(before.jobId)?.reason
    if (before === undefined || reason === undefined) continue
    const isCrash = reason === 'crash'
    const isError = reason === 'error' || reason === 'timeout'
    const errors = before.counts.errorRetries + (isError ? 1 : 0)
    const crashes = before.counts.crashRetries + (isCrash ? 1 : 0)
    const isCharged = counts.errorRetries === errors && counts.crashRetries === crashes
    const isNew = counts.errorRetries === 0 && counts.crashRetries === 0
    if (!isCharged && !(isNew && canBeginAnew))
      yield `I4: ${jobId} follows ${retryOf}, which ended by ${reason}, with ${JSON.stringify(counts)} after ${JSON.stringify(before.counts)}.`
  }
}

/** Somebody may have named an earlier attempt of the same chain. */
function wasAbortWanted(job: Job, witness: Witness): boolean {
  return witness.abortsWanted.has(job.jobId) || witness.abortsWanted.has(job.chainId) || job.groupId !== null
}

function* limitsHeld(evidence: Evidence): Iterable<string> {
  const max: Record<string, number> = {
    'resource:press': RESOURCES.press,
    'resource:oven': RESOURCES.oven,
    'type:pair': PAIR_MAX,
  }
  for (const [name, types] of Object.entries(LIMITED)) {
    const bodies = evidence.witness.bodies.filter(({ type }) => (types as readonly string[]).includes(type))
    yield* overlapping(bodies, max[name] ?? 0, evidence, (held) => `I11: ${held} at once held ${name} of ${max[name]}`)
  }
}

/** A business key has one holder: bodies of the same key never execute at once. */
function* keysHeld(evidence: Evidence): Iterable<string> {
  const { witness } = evidence
  const byKey = new Map<string, Body[]>()
  for (const body of witness.bodies) {
    const key = witness.asked.get(body.n)?.businessKey
    if (key === undefined || key === null) continue
    byKey.set(key, [...(byKey.get(key) ?? []), body])
  }
  for (const [key, bodies] of byKey)
    yield* overlapping(bodies, 1, evidence, (held) => `I10: ${held} at once held the key ${key}`)
}

function* overlapping(
  bodies: readonly Body[],
  max: number,
  evidence: Evidence,
  say: (held: string) => string,
): Iterable<string> {
  let open: { readonly body: Body; readonly until: number }[] = []
  for (const body of bodies) {
    open = open.filter(({ until }) => until > body.beganAt)
    open.push({ body, until: lastMoment(body, evidence) })
    if (open.length > max)
      yield `${say(open.map(({ body: { jobId, process } }) => `${jobId} on ${process.name}`).join(', '))}.`
  }
}

/**
 * Until when a body counts as executing. One whose process is stopped or cut off, and may have been taken for dead, cannot be
 * kept from going on: it counts until then.
 */
function lastMoment({ endedAt, process }: Body, { conditions }: Evidence): number {
  const end = endedAt ?? process.goneAt ?? Number.POSITIVE_INFINITY
  return conditions.liveness === 'heartbeat' ? Math.min(end, process.disturbedAt ?? end) : end
}

function* nothingBeganAfterItsCancel({ witness }: Evidence): Iterable<string> {
  for (const { jobId, at } of witness.cancelled) {
    const body = witness.bodies.find((candidate) => candidate.jobId === jobId && candidate.beganAt > at)
    if (body !== undefined) yield `A body of ${jobId} began at ${body.beganAt}, after its cancel was answered at ${at}.`
  }
}

/** Nothing is retried after a cancel, unless by hand. */
function* nothingFollowedACancel({ witness, stored, conditions }: Evidence): Iterable<string> {
  if (conditions.wishes.retry > 0) return
  for (const { jobId, retryOf } of stored.jobs) {
    if (retryOf !== null && witness.lastOnes.has(retryOf))
      yield `${jobId} is a retry of ${retryOf}, whose cancel had been answered.`
  }
}

function* nothingBeganEarly({ witness, stored, conditions }: Evidence): Iterable<string> {
  // By a clock that is set, nothing is early.
  if (conditions.faults.clockSteps > 0) return
  for (const body of witness.bodies) {
    const asked: Asked | undefined = witness.asked.get(body.n)
    if (asked?.kind === 'job' && body.attempt === 1 && body.beganWall < asked.runAt)
      yield `${body.jobId} (${body.n}) began ${asked.runAt - body.beganWall} ms before its time.`
    const before = stored.jobOf.get(body.jobId)?.retryOf ?? null
    const last = before === null ? undefined : stored.runs.get(before)
    if (conditions.wishes.retry > 0 || last?.reason !== 'error' || last.finishedAt === null) continue
    if (body.beganWall < last.finishedAt + BACKOFF_MS) yield `${body.jobId} (${body.n}) was retried before its backoff.`
  }
}

function* slotsWereNotEarly({ stored, conditions }: Evidence): Iterable<string> {
  if (conditions.faults.clockSteps > 0) return
  for (const { jobId, slotAt, createdAt, attempt } of stored.jobs) {
    if (slotAt !== null && attempt === 1 && createdAt < slotAt)
      yield `I9: job ${jobId} of slot ${slotAt} was made at ${createdAt}.`
  }
}

/** A schedule that nobody changed, and that lets no slot out, has made one Job for each. */
function* slotsWereNotLost(evidence: Evidence): Iterable<string> {
  const { stored, conditions, witness } = evidence
  if (conditions.faults.clockSteps > 0 || isPruned(evidence)) return
  for (const { scheduleId, timing, missed, overlap, businessKey, lastSlotAt } of stored.schedules) {
    if (timing.kind !== 'every' || missed !== 'all' || overlap !== 'allow' || businessKey !== null) continue
    if (witness.schedulesTouched.has(scheduleId)) continue
    const made = new Set(stored.jobs.filter((job) => job.scheduleId === scheduleId).map(({ slotAt }) => slotAt))
    for (let slot = timing.anchorAt + timing.everyMs; slot <= lastSlotAt; slot += timing.everyMs) {
      if (!made.has(slot)) yield `I9: schedule ${scheduleId} made no Job for its slot ${slot}.`
    }
  }
}

const EVENT_OF = { COMPLETED: 'job.run.completed', FAILED: 'job.run.failed', SKIPPED: 'job.run.skipped' } as const

/** Each end was told, and each message is the same whenever it is sent. */
function* messagesWereSent(evidence: Evidence): Iterable<string> {
  const { stored, witness } = evidence
  const bodies = new Map<string, string>()
  for (const { id, body } of witness.posts) {
    const before = bodies.get(id)
    if (before !== undefined && before !== body) yield `I14: message ${id} was ${before}, then ${body}.`
    bodies.set(id, body)
  }
  const told = new Set<string>()
  for (const delivery of stored.deliveries) {
    told.add(`${delivery.jobId} ${delivery.event}`)
    if (delivery.status !== 'DELIVERED') continue
    const wasTaken = witness.posts.some(({ id, wasTaken }) => wasTaken && id === delivery.deliveryId)
    if (!wasTaken) yield `I14: delivery ${delivery.deliveryId} is DELIVERED, but nobody took it.`
  }
  if (!evidence.conditions.hasWebhook) return
  for (const { jobId, status, reason } of stored.runs.values()) {
    if (status === null || reason === 'cancelled') continue
    if (!told.has(`${jobId} ${EVENT_OF[status]}`))
      yield `I14: the end of ${jobId} (${status}) was to be told to nobody.`
  }
}

function* directAnswersAreTrue({ witness, stored }: Evidence): Iterable<string> {
  for (const { n, kind, answer } of witness.asked.values()) {
    if (kind !== 'direct' || answer?.kind !== 'accepted') continue
    const outcome = stored.reservations.get(answer.jobId)?.outcome
    if (outcome !== undefined && outcome !== 'COMPLETED' && outcome !== 'SKIPPED')
      yield `Direct execution ${n} was answered with a result, but ${answer.jobId} is ${outcome}.`
  }
}
