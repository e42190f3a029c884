import type { Delivery, Job, Reservation, Run, Schedule } from 'pawl'
import type { Store } from 'pawl/store'

/** Everything that the store says in the end. */
export interface Stored {
  readonly jobs: readonly Job[]
  readonly jobOf: ReadonlyMap<string, Job>
  /** By Job. */
  readonly runs: ReadonlyMap<string, Run>
  readonly reservations: ReadonlyMap<string, Reservation>
  readonly deliveries: readonly Delivery[]
  readonly schedules: readonly Schedule[]
  /** What the store itself finds wrong. */
  readonly faults: readonly string[]
}

const PAGE = 200

export async function readStored(store: Store, now: number): Promise<Stored> {
  const jobs = await allOf((cursor) => store.listJobs({ limit: PAGE, cursor }, now))
  const runs = await allOf((cursor) => store.listRuns({ limit: PAGE, cursor }))
  const reservations = await allOf((cursor) => store.listReservations({ limit: PAGE, cursor }))
  const deliveries = await allOf((cursor) => store.listDeliveries({ limit: PAGE, cursor }))
  const schedules = await allOf((cursor) => store.listSchedules({ limit: PAGE, cursor }))
  const faults = await findFaults(store, now)
  return {
    jobs,
    jobOf: new Map(jobs.map((job) => [job.jobId, job])),
    runs: new Map(runs.map((run) => [run.jobId, run])),
    reservations: new Map(reservations.map((reservation) => [reservation.reservationId, reservation])),
    deliveries,
    schedules,
    faults,
  }
}

/** What the store itself finds wrong with what it holds. */
export async function findFaults(store: Store, now: number): Promise<string[]> {
  const checked = await store.checkInvariants(now)
  return checked.flatMap(({ invariant, findings }) =>
    findings
      .filter(({ severity }) => severity === 'fault')
      .map(({ message, rows }) => `${invariant}: ${message} (${rows.join(', ')})`),
  )
}

async function allOf<Item>(
  read: (cursor: string | null) => Promise<{ readonly items: readonly Item[]; readonly nextCursor: string | null }>,
): Promise<Item[]> {
  const all: Item[] = []
  for (let cursor: string | null = null; ; ) {
    const page: { readonly items: readonly Item[]; readonly nextCursor: string | null } = await read(cursor)
    all.push(...page.items)
    if (page.nextCursor === null) return all
    cursor = page.nextCursor
  }
}
