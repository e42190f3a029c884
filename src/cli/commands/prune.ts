import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { readDuration } from '../duration.ts'
import { examples } from '../output/help.ts'

export function register(program: Command, cli: Cli): void {
  program
    .command('prune')
    .description('remove history: what has settled long ago, with its runs, logs and log files')
    .requiredOption('--older-than <duration>', 'what ended at least so long ago: 12h, 30d')
    .option('--dry-run', 'remove nothing, only count')
    .addHelpText(
      'after',
      `${examples([
        ['pawl prune --older-than 30d --dry-run', 'what would go'],
        ['pawl prune --older-than 30d', 'let it go'],
      ])}\n\nNever removed: jobs that live, parents that somebody waits for, idempotency keys. Records of direct executions and
entries of the audit log of that time go too.`,
    )
    .action((options: { olderThan: string; dryRun?: boolean }) => prune(cli, options))
}

async function prune(cli: Cli, options: { olderThan: string; dryRun?: boolean }): Promise<void> {
  const older_than_ms = readDuration(options.olderThan, '--older-than')
  const dry_run = options.dryRun === true
  // Without the configuration: what was made long ago is removed whatever is handled today.
  await cli.withClient('read', async (client) => {
    const answer = await client.request('POST /api/prune', { body: { older_than_ms, dry_run } })
    if (cli.isJson) return cli.printJson(answer)
    const verb = answer.dry_run ? 'Would remove' : 'Removed'
    const parts = [
      `${counted(answer.jobs_removed, 'job', 'jobs')} with their runs and logs`,
      counted(answer.groups_removed, 'group', 'groups'),
      `${counted(answer.reservations_removed, 'record', 'records')} of direct executions`,
    ]
    parts.push(counted(answer.operations_removed, 'bulk operation', 'bulk operations'))
    cli.print(`${verb} ${parts.join(', ')} and ${counted(answer.audit_removed, 'entry', 'entries')} of the audit log.`)
  })
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}
