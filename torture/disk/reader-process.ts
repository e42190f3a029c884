// A process that does with a damaged database whatever people do with one. Its argument is the path. It prints one
// `ReaderReport` and ends by itself.
import { openScheduler, PawlError, type Scheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { jobTypes, RESOURCES } from '../power/job-types.ts'

/** What came of one thing that was tried. */
export interface Step {
  readonly what: string
  /** Null: it was done. */
  readonly refusal: { readonly code: string; readonly message: string } | null
  /** An error that is none of Pawl's, with its stack. */
  readonly error: string | null
}

export interface ReaderReport {
  readonly steps: readonly Step[]
  /** The Jobs that it was told of, with their params as JSON text. */
  readonly jobs: Readonly<Record<string, string>>
}

const READ_EACH_MAX = 40
const SETTLED_WITHIN_MS = 2_000

const path = process.argv[2] as string
const steps: Step[] = []
const jobs: Record<string, string> = {}

async function attempt<T>(what: string, work: () => Promise<T>): Promise<T | null> {
  try {
    const value = await work()
    steps.push({ what, refusal: null, error: null })
    return value
  } catch (error) {
    if (error instanceof PawlError)
      steps.push({ what, refusal: { code: error.code, message: error.message }, error: null })
    else steps.push({ what, refusal: null, error: error instanceof Error ? `${error.stack}` : String(error) })
    return null
  }
}

async function readAll(scheduler: Scheduler): Promise<void> {
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<Scheduler['listJobs']>> = await scheduler.listJobs({ limit: 20, cursor })
    for (const { jobId, params } of page.items) jobs[jobId] = JSON.stringify(params)
    cursor = page.nextCursor
  } while (cursor !== null)
}

async function use(scheduler: Scheduler): Promise<void> {
  await attempt('list jobs', () => readAll(scheduler))
  await attempt('list queue', () => scheduler.listQueue({ limit: 200 }))
  const runs = await attempt('list runs', () => scheduler.listRuns({ limit: 200 }))
  await attempt('statistics', () => scheduler.statistics())
  await attempt('limits', () => scheduler.listLimits())
  await attempt('groups', () => scheduler.groups.list())
  await attempt('schedules', () => scheduler.schedules.list())
  await attempt('webhooks', () => scheduler.webhooks.list())
  await attempt('deliveries', () => scheduler.webhooks.deliveries())
  await attempt('reservations', () => scheduler.listReservations())
  for (const jobId of Object.keys(jobs).slice(0, READ_EACH_MAX)) {
    await attempt('get job', () => scheduler.getJob(jobId))
    await attempt('why', () => scheduler.why(jobId))
  }
  for (const { runId } of (runs?.items ?? []).slice(0, READ_EACH_MAX))
    await attempt('get run', () => scheduler.getRun(runId))
  const handle = await attempt('enqueue', () => scheduler.enqueue('plain', { n: -1, does: 'completes' }))
  await attempt('start', () => scheduler.start())
  if (handle !== null) {
    const inTime = new Promise<void>((resolve) => setTimeout(resolve, SETTLED_WITHIN_MS).unref())
    await attempt('settled', () => Promise.race([handle.settled(), inTime]))
    await attempt('get new job', () => handle.get())
  }
  await attempt('prune', () => scheduler.prune({ olderThanMs: 0, dryRun: true }))
  await attempt('close', () => scheduler.close())
}

await attempt('inspect', () => sqlite(path).inspect())
const scheduler = await attempt('open', () =>
  openScheduler({
    store: sqlite(path),
    jobs: jobTypes({ began: () => {}, asked: () => {}, wait: async () => {} }),
    resources: RESOURCES,
    shutdownTimeoutMs: 1_000,
    logger: { info: () => {}, warn: () => {}, error: () => {} },
  }),
)
if (scheduler !== null) await use(scheduler)
process.stdout.write(JSON.stringify({ steps, jobs } satisfies ReaderReport))
