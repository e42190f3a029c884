import type { Cli } from '../cli.ts'
import type { Operation } from '../wire.ts'
import { jsonBlock, printDetails, textBlock } from './details.ts'
import { escapeLine } from './escape.ts'
import { paintStatus } from './status.ts'
import type { Column } from './table.ts'
import { fullTime, relativeTime } from './times.ts'

/** `12 of 40`, or `12 of 10000 or more`. */
function progressOf({ done, matched, matched_or_more }: Operation): string {
  return `${done} of ${matched}${matched_or_more ? ' or more' : ''}`
}

function reasonsOf({ skip_reasons }: Operation): string {
  const reasons = Object.entries(skip_reasons).map(([reason, count]) => `${count} ${reason}`)
  return reasons.length === 0 ? '' : ` (${reasons.join(', ')})`
}

/** All of it on one line. */
export function operationLine(operation: Operation): string {
  const { operation_id, kind, status, changed, skipped, failed } = operation
  const counts = `${changed} changed, ${skipped} skipped${reasonsOf(operation)}, ${failed} failed`
  return escapeLine(`Operation ${operation_id} (${kind}) is ${status}: ${progressOf(operation)} jobs, ${counts}.`)
}

export function operationColumns(cli: Cli): Column<Operation>[] {
  const now = cli.clock.now()
  return [
    { title: 'ID', text: (operation) => operation.operation_id },
    { title: 'KIND', text: (operation) => operation.kind, yields: 1 },
    {
      title: 'STATUS',
      text: (operation) => operation.status,
      paint: (text, operation) => paintStatus(cli.colors, text, operation.status),
      yields: 1,
    },
    { title: 'DONE', text: progressOf, yields: 2 },
    { title: 'CHANGED', text: (operation) => operation.changed, align: 'right', yields: 3, minWidth: 7 },
    { title: 'CREATED', text: (operation) => relativeTime(operation.created_at, now), yields: 3 },
  ]
}

export function printOperation(cli: Cli, operation: Operation): void {
  const now = cli.clock.now()
  printDetails(cli, `Operation ${operation.operation_id}`, [
    ['kind', operation.kind],
    ['status', operation.status],
    ['filter', operation.filter === null ? null : jsonBlock(operation.filter)],
    ['jobs named', operation.job_ids === null ? null : operation.job_ids.length],
    ['mode', operation.mode],
    ['reason', textBlock(operation.reason)],
    ['done', progressOf(operation)],
    ['changed', operation.changed],
    ['skipped', `${operation.skipped}${reasonsOf(operation)}`],
    ['failed', operation.failed],
    ['created by', operation.created_by],
    ['created', fullTime(operation.created_at, now)],
    ['ended', fullTime(operation.ended_at, now)],
  ])
}
