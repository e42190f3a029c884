import type { Cli } from '../cli.ts'
import type { Run } from '../wire.ts'
import { type Detail, jsonBlock, textBlock } from './details.ts'
import { paintStatus } from './status.ts'
import type { Column } from './table.ts'
import { fullTime, lasted, relativeTime } from './times.ts'

/** `RUNNING`, `COMPLETED`, `FAILED (timeout)`. */
function outcomeOf({ status, reason }: Run): string {
  if (status === null) return 'RUNNING'
  return reason === null ? status : `${status} (${reason})`
}

export function runColumns(cli: Cli): Column<Run>[] {
  const now = cli.clock.now()
  return [
    { title: 'ID', text: (run) => run.run_id },
    {
      title: 'STATUS',
      text: outcomeOf,
      paint: (text, run) => paintStatus(cli.colors, text, run.status ?? 'RUNNING'),
      yields: 1,
    },
    { title: 'TYPE', text: (run) => run.job_type, yields: 4, minWidth: 8 },
    { title: 'JOB', text: (run) => run.job_id, yields: 3, minWidth: 36 },
    { title: 'TRY', text: (run) => run.attempt, align: 'right', yields: 5, minWidth: 3 },
    { title: 'STARTED', text: (run) => relativeTime(run.started_at, now), yields: 2, minWidth: 7 },
    { title: 'TOOK', text: (run) => lasted(run.duration_ms), align: 'right', yields: 2, minWidth: 6 },
    { title: 'ERROR', text: (run) => run.error?.split('\n', 1)[0] ?? null, yields: 6, minWidth: 12 },
  ]
}

export function runDetails(cli: Cli, run: Run): Detail[] {
  const now = cli.clock.now()
  const { progress } = run
  return [
    ['outcome', outcomeOf(run)],
    ['attempt', run.attempt],
    ['node', run.node],
    ['started', fullTime(run.started_at, now)],
    ['finished', fullTime(run.finished_at, now)],
    ['took', lasted(run.duration_ms)],
    [
      'progress',
      progress === null ? null : `${Math.round(progress.fraction * 100)} % ${progress.message ?? ''}`.trim(),
    ],
    ['exit code', run.exit_code],
    ['log file', run.log_path],
    ['artifacts', run.artifacts.length === 0 ? null : run.artifacts.join(', ')],
    [run.status === 'SKIPPED' ? 'reason' : 'error', textBlock(run.error)],
    ['result', run.result === null ? null : jsonBlock(run.result)],
  ]
}
