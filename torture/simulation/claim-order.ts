import type { Job, JobPolicy } from 'pawl'
import type { Store } from 'pawl/store'

type ClaimRequest = Parameters<Store['claimJobs']>[0]
type Claimed = Awaited<ReturnType<Store['claimJobs']>>

/** As much of the queue is compared as a claim could ever reach here. */
const QUEUE_MAX = 500

/**
 * Carries out a claim and says if it took other Jobs than the first that could start, in the order of the queue (I8). Null: all
 * is well, or it cannot be said, because something else was committed meanwhile or somebody waits on a ticket.
 */
export async function compareClaim(
  store: Store,
  request: ClaimRequest,
  claim: () => Promise<Claimed>,
): Promise<{ readonly claimed: Claimed; readonly contradiction: string | null; readonly isCompared: boolean }> {
  const before = await store.lastEventSeq()
  const bodies = await bodyIds(store, request.now)
  const expected = await firstThatCanStart(store, request)
  const claimed = await claim()
  const isCompared =
    expected !== null &&
    claimed.tickets.length === 0 &&
    (await wasAlone(store, before, claimed.jobs.length)) &&
    // The end of a direct execution is no event, but it frees permits.
    includesAll(await bodyIds(store, request.now), bodies)
  if (!isCompared) return { claimed, contradiction: null, isCompared }
  const took = claimed.jobs.map((job) => job.claim.jobId)
  if (took.join() === expected.join()) return { claimed, contradiction: null, isCompared }
  return {
    claimed,
    contradiction: `I8: a claim took ${took.join(', ') || 'nothing'}, but first in the queue were ${expected.join(', ') || 'none'}.`,
    isCompared,
  }
}

async function bodyIds(store: Store, now: number): Promise<ReadonlySet<string>> {
  return new Set((await store.readVitals(now)).bodies.map(({ id }) => id))
}

function includesAll(all: ReadonlySet<string>, some: ReadonlySet<string>): boolean {
  return [...some].every((id) => all.has(id))
}

/** Whether nothing was committed since that event but a claim of so many Jobs. */
async function wasAlone(store: Store, afterSeq: number, jobs: number): Promise<boolean> {
  const rows = await store.readEvents(afterSeq, 2)
  if (jobs === 0) return rows.length === 0
  const [row] = rows
  return (
    rows.length === 1 && row?.transitions.length === jobs && row.transitions.every(({ kind }) => kind === 'job.started')
  )
}

async function firstThatCanStart(store: Store, { types, limit, now }: ClaimRequest): Promise<string[] | null> {
  const { items: tickets } = await store.listReservations({ status: 'WAITING', limit: 1 })
  if (tickets.length > 0) return null
  const limits = new Map((await store.listLimits()).map(({ name, max }) => [name, max]))
  const used = new Map<string, number>()
  const takenBy = (type: string, { resources }: Pick<JobPolicy, 'resources'>) => [
    'running',
    `type:${type}`,
    ...resources.map((resource) => `resource:${resource}`),
  ]
  const take = (names: readonly string[]) => {
    for (const name of names) used.set(name, (used.get(name) ?? 0) + 1)
  }
  for (const { type, resources } of (await store.readVitals(now)).bodies) take(takenBy(type, { resources }))
  const isFree = (name: string) => (used.get(name) ?? 0) < (limits.get(name) ?? Number.POSITIVE_INFINITY)
  const left = new Map(types)
  const chosen: string[] = []
  for (const job of await store.listQueue(QUEUE_MAX, now)) {
    if (chosen.length >= limit) break
    if (!canStart(job) || (left.get(job.type) ?? 0) === 0) continue
    const names = takenBy(job.type, job.policy)
    if (!names.every(isFree)) continue
    take(names)
    left.set(job.type, (left.get(job.type) ?? 0) - 1)
    chosen.push(job.jobId)
  }
  return chosen
}

function canStart({ hold }: Job): boolean {
  return hold === null
}
