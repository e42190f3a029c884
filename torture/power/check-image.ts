import type { Job } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import type { Store } from 'pawl/store'
import type { Order } from './acts.ts'
import { inText, type Testimony } from './testimony.ts'

const PAGE = 200
/** So many sentences are told of one image. */
const TOLD_MAX = 8

/** What a database left by a power cut contradicts: its own rules, and what was said outside until then. Best nothing. */
export async function checkImage(path: string, testimony: Testimony, now: number): Promise<string[]> {
  let store: Store
  try {
    store = await sqlite(path).open()
  } catch (error) {
    return [`I1: it cannot be opened any more: ${String(error)}`]
  }
  try {
    return [...(await contradictionsWithin(store, now)), ...(await contradictionsTo(store, testimony, now))].slice(
      0,
      TOLD_MAX,
    )
  } catch (error) {
    return [`I17: it cannot be read: ${String(error)}`]
  } finally {
    await store.close()
  }
}

/** Integrity, foreign keys, and every invariant that the database alone can show. */
export async function contradictionsWithin(store: Store, now: number): Promise<string[]> {
  const checked = await store.checkInvariants(now)
  return checked.flatMap(({ invariant, findings }) =>
    findings
      .filter(({ severity }) => severity === 'fault')
      .map(({ message, rows }) => `${invariant}: ${message} ${rows.slice(0, 5).join(', ')}`),
  )
}

async function contradictionsTo(store: Store, testimony: Testimony, now: number): Promise<string[]> {
  const jobs = await allJobs(store, now)
  const isMissing = (jobId: string) => !jobs.has(jobId)
  const isLost = (jobId: string) => isMissing(jobId) && !testimony.prunable.has(jobId)
  return [
    ...accepted(jobs, testimony, isLost),
    ...requested(jobs, testimony),
    ...cancelled(jobs, testimony, isLost),
    ...(await ends(store, testimony, isMissing)),
    ...(await bodies(store, testimony, isLost)),
    ...(await others(store, testimony, isMissing)),
  ]
}

async function allJobs(store: Store, now: number): Promise<Map<string, Job>> {
  const jobs = new Map<string, Job>()
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<Store['listJobs']>> = await store.listJobs({ limit: PAGE, cursor }, now)
    for (const job of page.items) jobs.set(job.jobId, job)
    cursor = page.nextCursor
  } while (cursor !== null)
  return jobs
}

type Judge = (jobId: string) => boolean

function accepted(jobs: ReadonlyMap<string, Job>, testimony: Testimony, isLost: Judge): string[] {
  const told: string[] = []
  for (const [jobId, { n }] of testimony.accepted) {
    if (isLost(jobId)) told.push(`I1: Job ${jobId} (request ${n}) was acknowledged, and is lost.`)
    const job = jobs.get(jobId)
    if (job !== undefined && !testimony.paramsOf(jobId, n).includes(inText(job.params))) {
      told.push(`I7: Job ${jobId} (request ${n}) has other params than it was asked for with.`)
    }
  }
  for (const [jobId, chainId] of testimony.retried) {
    if (isLost(jobId)) told.push(`I1: the retry ${jobId} of ${chainId} was acknowledged, and is lost.`)
  }
  for (const jobId of testimony.gone) {
    if (jobs.has(jobId)) told.push(`I3: Job ${jobId} was pruned, and is back.`)
  }
  return told
}

/** Nothing is there that nobody asked for, and nothing twice. */
function requested(jobs: ReadonlyMap<string, Job>, testimony: Testimony): string[] {
  const told: string[] = []
  const firstOnes = new Map<number, string>()
  for (const { jobId, params, attempt, scheduleId } of jobs.values()) {
    const { n } = params as unknown as Order
    if (!testimony.asked.has(n)) told.push(`I2: Job ${jobId} is there, but nobody asked for request ${n}.`)
    if (testimony.notStored.has(n)) told.push(`I2: Job ${jobId} is there, but request ${n} was told not to be stored.`)
    if (attempt !== 1 || scheduleId !== null) continue
    const other = firstOnes.get(n)
    if (other !== undefined) told.push(`I2: request ${n} is there twice, as ${other} and ${jobId}.`)
    firstOnes.set(n, jobId)
  }
  return told
}

function cancelled(jobs: ReadonlyMap<string, Job>, testimony: Testimony, isLost: Judge): string[] {
  const told: string[] = []
  const lastOnes = new Map<string, Job>()
  for (const job of jobs.values()) {
    if (job.attempt > (lastOnes.get(job.chainId)?.attempt ?? 0)) lastOnes.set(job.chainId, job)
  }
  for (const [jobId, kind] of testimony.cancelled) {
    const last = lastOnes.get(jobId)
    if (last === undefined) {
      if (isLost(jobId)) told.push(`I1: Job ${jobId} was cancelled, and is lost.`)
      continue
    }
    const isHeeded =
      kind === 'cancelled' ? last.status === 'CANCELLED' : last.cancelRequestedAt !== null || last.status !== 'RUNNING'
    if (!isHeeded) told.push(`I3: the cancellation of ${jobId} was acknowledged, but its last Job is ${last.status}.`)
  }
  return told
}

/** What a client was told to be the end is the end. */
async function ends(store: Store, testimony: Testimony, isMissing: Judge): Promise<string[]> {
  const chainIds = [...testimony.ends.keys()].filter((jobId) => !isMissing(jobId))
  const stored = new Map((await store.findChainEnds(chainIds)).map((end) => [end.chainId, end]))
  const told: string[] = []
  for (const chainId of chainIds) {
    const { outcome, attempts, result } = testimony.ends.get(chainId) as {
      outcome: string
      attempts: number
      result: unknown
    }
    const end = stored.get(chainId)
    if (end === undefined) {
      told.push(`I3: chain ${chainId} was told to have ended ${outcome}, and has not ended.`)
    } else if (end.outcome !== outcome || end.attempts !== attempts || (end.result ?? 'null') !== inText(result)) {
      const now = `${end.outcome} after ${end.attempts} with ${end.result}`
      told.push(
        `I3: chain ${chainId} was told to have ended ${outcome} after ${attempts} with ${inText(result)}, now ${now}.`,
      )
    }
  }
  return told
}

/** A body that began has a Run, or it would begin once more. */
async function bodies(store: Store, testimony: Testimony, isLost: Judge): Promise<string[]> {
  const told: string[] = []
  const directs = [...testimony.began].filter(([runId, jobId]) => runId === jobId).map(([runId]) => runId)
  const reservations = await reservationsOf(store, [...new Set([...directs, ...testimony.directs.keys()])])
  const mayBeGone = (id: string) => testimony.prunableDirects.has(id) && !reservations.has(id)
  for (const id of directs) {
    if (!reservations.has(id) && !mayBeGone(id)) told.push(`I4: the direct execution ${id} began, and is lost.`)
  }
  for (const [id, result] of testimony.directs) {
    const reservation = reservations.get(id)
    if (mayBeGone(id)) continue
    if (reservation?.outcome !== 'COMPLETED' || inText(reservation.result) !== inText(result)) {
      told.push(`I3: the direct execution ${id} was answered, but is ${inText(reservation ?? 'lost')}.`)
    }
  }
  const runs = await allRuns(store)
  for (const [runId, jobId] of testimony.began) {
    if (runId === jobId || runs.get(runId) === jobId) continue
    if (isLost(jobId) || !testimony.prunable.has(jobId))
      told.push(`I4: a body of Job ${jobId} began, but its Run ${runId} is lost.`)
  }
  return told
}

async function reservationsOf(store: Store, ids: readonly string[]) {
  const found = ids.length === 0 ? [] : await store.findReservations(ids)
  return new Map(found.map((reservation) => [reservation.reservationId, reservation]))
}

async function allRuns(store: Store): Promise<Map<string, string>> {
  const runs = new Map<string, string>()
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<Store['listRuns']>> = await store.listRuns({ limit: PAGE, cursor })
    for (const { runId, jobId } of page.items) runs.set(runId, jobId)
    cursor = page.nextCursor
  } while (cursor !== null)
  return runs
}

async function others(store: Store, testimony: Testimony, isMissing: Judge): Promise<string[]> {
  const told: string[] = []
  for (const [groupId, { jobIds, status }] of testimony.groups) {
    const group = await store.findGroup(groupId)
    if (group === null && jobIds.every(isMissing)) continue
    if (group === null) told.push(`I1: group ${groupId} was acknowledged, and is lost.`)
    else if (status !== null && group.status !== status) {
      told.push(`I3: group ${groupId} was told to have settled ${status}, and is ${group.status}.`)
    }
  }
  for (const scheduleId of testimony.schedules) {
    if ((await store.findSchedule(scheduleId)) === null)
      told.push(`I1: schedule ${scheduleId} was acknowledged, and is lost.`)
  }
  for (const webhookId of testimony.webhooks) {
    if ((await store.findWebhook(webhookId)) === null)
      told.push(`I1: webhook ${webhookId} was acknowledged, and is lost.`)
  }
  for (const deliveryId of testimony.received) {
    const isLost = testimony.prunable.size === 0 && (await store.findDelivery(deliveryId)) === null
    if (isLost) told.push(`I14: delivery ${deliveryId} was received, and is lost.`)
  }
  return told
}
