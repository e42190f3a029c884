import type { Scheduler } from '../../library/scheduler.ts'
import type { Cli } from '../cli.ts'

/** Starts to execute, and tells what dead processes had left behind. */
export async function startNode(cli: Cli, scheduler: Scheduler): Promise<void> {
  const { runningJobsRecovered, reservationsExpired, errors } = await scheduler.start()
  if (runningJobsRecovered > 0) {
    cli.note(
      `Recovered ${runningJobsRecovered} job${runningJobsRecovered === 1 ? '' : 's'} of processes that had died.`,
    )
  }
  if (reservationsExpired > 0)
    cli.note(
      `Ended ${reservationsExpired} direct execution${reservationsExpired === 1 ? '' : 's'} that nobody waits for any more.`,
    )
  for (const error of errors) cli.note(`Not everything could be recovered: ${error}`)
}
