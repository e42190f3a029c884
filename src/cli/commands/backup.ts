import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { PawlError } from '../../domain/errors.ts'
import type { Cli } from '../cli.ts'
import { CliError, usageError } from '../cli-error.ts'
import { escapeLine } from '../output/escape.ts'
import { examples } from '../output/help.ts'
import { refuseMissing, refuseOutdated } from '../session.ts'

export function register(program: Command, cli: Cli): void {
  program
    .command('backup')
    .description('write a consistent copy of the store to a new file, while work goes on')
    .argument('<file>', 'a file that is not there yet')
    .addHelpText(
      'after',
      `${examples([
        ['pawl backup backups/pawl-2026-11-16.db', 'copy the store'],
      ])}\n\nOnly on a SQLite store: PostgreSQL has tools of its own (pg_dump). The copy is a whole store: to use it, name it with --store.`,
    )
    .action((file: string) => backup(cli, file))
}

async function backup(cli: Cli, file: string): Promise<void> {
  const target = await cli.storeTarget('A backup copies a file on this machine, so it works on a store.')
  refuseOutdated(
    target,
    refuseMissing(target, await target.source.inspect()),
    ' To have a copy before, copy the file while nothing uses it, or use the older Pawl for the backup.',
  )
  const path = resolve(cli.cwd, file)
  if (existsSync(path))
    throw new CliError(`${file} is there already, and is not overwritten. Name a new file.`, { code: 'file_exists' })
  const store = await target.source.open()
  try {
    await store.backup(path)
  } catch (error) {
    if (error instanceof PawlError && error.code === 'invalid_option') throw usageError(error.message)
    throw error
  } finally {
    await store.close()
  }
  if (cli.isJson) return cli.printJson({ file: path })
  cli.print(`Copied ${target.description} to ${escapeLine(file)}.`)
}
