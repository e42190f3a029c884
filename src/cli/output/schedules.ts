import type { Cli } from '../cli.ts'
import type { Answered, Schedule } from '../wire.ts'
import { jsonBlock, printDetails } from './details.ts'
import type { Column } from './table.ts'
import { fullTime, lasted, relativeTime } from './times.ts'

function timingOf({ cron, every_ms, timezone }: Schedule): string {
  return cron === null ? `every ${lasted(every_ms)}` : `${cron} ${timezone}`
}

function stateOf({ enabled, disabled_reason }: Schedule): string {
  if (enabled) return 'enabled'
  return disabled_reason === null ? 'disabled' : 'broken'
}

export function scheduleColumns(cli: Cli): Column<Schedule>[] {
  const now = cli.clock.now()
  const { yellow } = cli.colors
  return [
    { title: 'ID', text: (schedule) => schedule.schedule_id },
    { title: 'STATE', text: stateOf, paint: (text, { enabled }) => (enabled ? text : yellow(text)), yields: 1 },
    { title: 'NAME', text: (schedule) => schedule.name, yields: 1 },
    { title: 'WHEN', text: timingOf, yields: 2 },
    { title: 'NEXT', text: (schedule) => relativeTime(schedule.next_trigger_at, now), yields: 2 },
    { title: 'MAKES', text: (schedule) => schedule.type ?? `template ${schedule.template_id}`, yields: 3 },
  ]
}

export function printSchedule(cli: Cli, schedule: Schedule): void {
  const now = cli.clock.now()
  printDetails(cli, `Schedule ${schedule.schedule_id}`, [
    ['name', schedule.name],
    ['state', stateOf(schedule)],
    ['broken because', schedule.disabled_reason],
    ['when', timingOf(schedule)],
    ['type', schedule.type],
    ['template', schedule.template_id],
    ['next', fullTime(schedule.next_trigger_at, now)],
    ['last', fullTime(schedule.last_triggered_at, now)],
    ['missed', schedule.missed],
    ['overlap', schedule.overlap],
    ['priority', schedule.priority],
    ['tags', schedule.tags.length === 0 ? null : schedule.tags.join(', ')],
    ['business key', schedule.business_key],
    ['params', jsonBlock(schedule.param_overrides)],
  ])
}

type Slot = Answered<'POST /api/schedules/preview'>['items'][number]

const NOTES = { 'dst-gap': 'clocks go forward', 'dst-overlap': 'clocks go back' } as const

export function previewColumns(cli: Cli): Column<Slot>[] {
  const now = cli.clock.now()
  return [
    { title: 'AT', text: (slot) => slot.at },
    { title: 'LOCAL', text: (slot) => slot.local, yields: 2, minWidth: 19 },
    { title: 'IN', text: (slot) => relativeTime(slot.at, now), yields: 3 },
    { title: 'NOTE', text: (slot) => (slot.note === null ? null : NOTES[slot.note]), yields: 4 },
  ]
}

type Skipped = Answered<'GET /api/schedules/{schedule_id}/skipped'>['items'][number]

export function skippedColumns(cli: Cli): Column<Skipped>[] {
  const now = cli.clock.now()
  return [
    { title: 'FIRST SLOT', text: (each) => each.first_slot_at },
    { title: 'LAST SLOT', text: (each) => each.last_slot_at, yields: 2, minWidth: 24 },
    { title: 'COUNT', text: (each) => each.count ?? 'many', align: 'right', yields: 1, minWidth: 5 },
    { title: 'REASON', text: (each) => each.reason, yields: 1 },
    { title: 'RECORDED', text: (each) => relativeTime(each.at, now), yields: 3 },
  ]
}
