import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { CliError } from '../cli-error.ts'
import { printDetails } from '../output/details.ts'
import { examples } from '../output/help.ts'
import { whatIsMissing } from '../session.ts'

export function register(program: Command, cli: Cli): void {
  program
    .command('migrate')
    .description("bring a store's schema up to date, or make a store that is not there yet")
    .option('--dry-run', 'change nothing, only say what would be done')
    .addHelpText(
      'after',
      `${examples([
        ['pawl migrate --dry-run', 'what would be done'],
        ['pawl migrate --store sqlite:pawl.db', 'do it'],
        ['pawl migrate --store postgres://host/database', 'on PostgreSQL; any number may do so at once'],
      ])}\n\nOnly on a store. Every command that changes something migrates it too; this one does nothing else.`,
    )
    .action((options: { dryRun?: boolean }) => migrate(cli, options.dryRun === true))
}

async function migrate(cli: Cli, isDryRun: boolean): Promise<void> {
  const target = await cli.storeTarget('A schema belongs to a store.')
  const before = await target.source.inspect()
  if (before.kind === 'newer' || before.kind === 'foreign') {
    // Opening says best why it is refused.
    const store = await target.source.open()
    await store.close()
    throw new CliError(`${target.description} cannot be migrated.`)
  }
  if (!isDryRun) {
    const store = await target.source.open()
    await store.close()
  }
  const after = isDryRun ? before : await target.source.inspect()
  if (cli.isJson) {
    return cli.printJson({
      store: before.description,
      dry_run: isDryRun,
      version_before: before.version,
      version_after: after.version,
      latest: before.latest,
      [isDryRun ? 'pending' : 'applied']: before.pending,
    })
  }
  const isDone = before.pending.length === 0
  const title = isDone ? 'The schema is up to date' : isDryRun ? 'Would be migrated' : 'Migrated'
  printDetails(cli, `${title}: ${target.description}`, [
    ['version before', before.version ?? `none: there is no ${whatIsMissing(before)}`],
    [isDryRun ? 'would become' : 'version now', isDryRun ? before.latest : (after.version ?? 'none')],
    [isDryRun ? 'pending' : 'applied', isDone ? 'nothing' : before.pending.join(', ')],
  ])
}
