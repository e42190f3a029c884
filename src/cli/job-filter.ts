import type { Command } from 'commander'
import { choice } from './choice.ts'
import { given, readWordOption } from './read-options.ts'

export const JOB_STATUSES = ['QUEUED', 'RUNNING', 'CANCELLED', 'FINISHED'] as const

const OUTCOMES = ['COMPLETED', 'FAILED', 'SKIPPED'] as const

export interface JobFilterOptions {
  readonly status?: string
  readonly type?: string
  readonly tag?: string
  readonly template?: string
  readonly schedule?: string
  readonly group?: string
  readonly outcome?: string
  readonly paramsPath?: string
  readonly paramsValue?: string
  readonly error?: string
  readonly createdAfter?: string
  readonly createdBefore?: string
}

/** Gives a command the options by which jobs are looked for. */
export function withJobFilter(
  command: Command,
  statuses: readonly (typeof JOB_STATUSES)[number][] = JOB_STATUSES,
): Command {
  return command
    .addOption(choice('--status <status>', `only these: ${statuses.join(', ')}`, statuses))
    .option('--type <type>', 'only of this type')
    .option('--tag <tag>', 'only with this tag')
    .option('--template <id>', 'only of this template')
    .option('--schedule <id>', 'only of this schedule')
    .option('--group <id>', 'only of this group')
    .addOption(choice('--outcome <outcome>', `only of which this came: ${OUTCOMES.join(', ')}`, OUTCOMES))
    .option('--params-path <path>', 'only with something there in the params, such as user.id')
    .option('--params-value <value>', 'and with this value there')
    .option('--error <text>', 'only with this text in the error')
    .option('--created-after <instant>', 'only accepted at this instant or later')
    .option('--created-before <instant>', 'only accepted before this instant')
}

/** The same as the API is asked for it. */
export function readJobFilter(options: JobFilterOptions) {
  return given({
    status: readWordOption(options.status, JOB_STATUSES, '--status'),
    type: options.type,
    tag: options.tag,
    template_id: options.template,
    schedule_id: options.schedule,
    group_id: options.group,
    outcome: readWordOption(options.outcome, OUTCOMES, '--outcome'),
    params_path: options.paramsPath,
    params_value: options.paramsValue,
    error: options.error,
    created_after: options.createdAfter,
    created_before: options.createdBefore,
  })
}
