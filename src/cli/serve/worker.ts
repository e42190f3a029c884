import { DOOR } from '../../library/door.ts'
import type { Scheduler } from '../../library/scheduler.ts'
import { delay } from '../../platform/clock.ts'
import type { Cli } from '../cli.ts'
import { safeJson } from '../output/escape.ts'
import { endInGoodOrder, untilInterrupted } from './end-in-good-order.ts'
import { openProcess, typesInWords } from './open-process.ts'
import { type ProcessFlags, readProcessOptions } from './process-options.ts'
import { startNode } from './start-node.ts'

export interface WorkerFlags extends ProcessFlags {
  readonly once?: boolean
}

/** Executes Jobs, without an API, until a signal comes or, with `--once`, until nothing more can start. */
export async function work(cli: Cli, flags: WorkerFlags): Promise<void> {
  const config = (await cli.loadConfig())?.config ?? null
  cli.io.endsInGoodOrder = true
  const options = readProcessOptions(flags, config)
  const { scheduler, store, types } = await openProcess(cli, options, '`pawl worker` works on a store.')
  const startedAt = cli.clock.now()
  try {
    if (!cli.interrupted.aborted) await startNode(cli, scheduler)
    if (flags.once === true) {
      await Promise.race([untilInterrupted(cli), untilIdle(cli, scheduler)])
      await scheduler.stop(options.shutdownTimeoutMs)
      await tellExecuted(cli, scheduler, startedAt)
    } else {
      if (cli.isJson) cli.print(safeJson({ store, job_types: types, node_id: scheduler.nodeId }))
      else cli.print(`Pawl executes the jobs of ${store} (${typesInWords(types)})`)
      await untilInterrupted(cli)
    }
  } finally {
    await endInGoodOrder(cli, { scheduler, server: null, shutdownTimeoutMs: options.shutdownTimeoutMs })
  }
}

const LOOK_EVERY_MS = 20

/** So many looks in a row must find nothing under way: what one Job's end lets start, such as a dependent, starts within. */
const STILL_LOOKS = 10

/** A database that is away for a moment is waited for. So many looks in a row that find failing claims are enough: 5 s. */
const FAILING_LOOKS = 250

/** Nothing executes here, and nothing could be claimed. What is delayed, or held back by others, is left to the next time. */
async function untilIdle(cli: Cli, scheduler: Scheduler): Promise<void> {
  let failing = 0
  for (let still = 0; still < STILL_LOOKS && !cli.interrupted.aborted; ) {
    await delay(cli.clock, LOOK_EVERY_MS)
    const { claimFailure, isQuiet } = scheduler
    failing = isQuiet && claimFailure !== null ? failing + 1 : 0
    if (failing === FAILING_LOOKS) throw claimFailure
    still = isQuiet && claimFailure === null ? still + 1 : 0
  }
}

const HOUR_MS = 3_600_000
const HOURS_MAX = 10_000

/** What this process has ended, as the statistics have counted it. */
async function tellExecuted(cli: Cli, scheduler: Scheduler, startedAt: number): Promise<void> {
  const firstHour = startedAt - (startedAt % HOUR_MS)
  const hours = await scheduler[DOOR].context.store.listHours(firstHour, HOURS_MAX)
  const own = hours.filter(({ nodeId }) => nodeId === scheduler.nodeId)
  const sum = (count: (hour: (typeof own)[number]) => number) => own.reduce((all, hour) => all + count(hour), 0)
  const told = {
    executed: sum(({ executed }) => executed),
    completed: sum(({ completed }) => completed),
    failed: sum(({ failed }) => failed),
    skipped: sum(({ skipped }) => skipped),
  }
  if (cli.isJson) cli.printJson(told)
  else cli.print(executedInWords(told))
}

function executedInWords(told: { executed: number; completed: number; failed: number; skipped: number }): string {
  if (told.executed === 0) return 'Nothing was ready.'
  const parts = [`${told.completed} completed`, `${told.failed} failed`, `${told.skipped} skipped`]
  return `Executed ${told.executed} job${told.executed === 1 ? '' : 's'}: ${parts.join(', ')}.`
}
