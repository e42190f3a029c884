import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { examples } from '../output/help.ts'

interface InitFlags {
  readonly js?: boolean
  readonly force?: boolean
}

export function register(program: Command, cli: Cli): void {
  program
    .command('init')
    .description('write a commented configuration and an example job into this folder')
    .option('--js', 'plain JavaScript: pawl.config.mjs instead of pawl.config.ts')
    .option('--force', 'overwrite what is there')
    .addHelpText(
      'after',
      examples([
        ['pawl init', 'write pawl.config.ts and jobs/hello.ts'],
        ['pawl init --js', 'write pawl.config.mjs and jobs/hello.mjs'],
      ]),
    )
    .action((flags: InitFlags) => init(cli, flags))
}

async function init(cli: Cli, { js = false, force = false }: InitFlags): Promise<void> {
  const { starterFiles } = await import('../init/starter-files.ts')
  const { canImport, writeStarterFiles } = await import('../init/write-starter-files.ts')
  const files = starterFiles({ language: js ? 'js' : 'ts', hasZod: canImport(cli.cwd, 'zod') })
  await writeStarterFiles(cli.cwd, files, { force })
  const paths = files.map(({ path }) => path)
  if (cli.isJson) return cli.printJson({ written: paths })
  cli.print(`Wrote ${paths.join(' and ')}.`)
  if (!canImport(cli.cwd, 'pawl')) cli.print('They import pawl, which is not installed here: npm install pawl')
  cli.print()
  cli.print('Next:')
  for (const [command, meaning] of NEXT) cli.print(`  ${command.padEnd(36)}${cli.colors.dim(meaning)}`)
}

const NEXT = [
  ['npx pawl serve', '# execute jobs, and serve the API at http://127.0.0.1:4747'],
  ['npx pawl enqueue hello -p name=Ada', '# in a second terminal: accept a job'],
  ['npx pawl watch', '# in a third: see it run'],
] as const
