import type { Command } from 'commander'
import type { Check, Examination, Repair } from '../../operations/doctor.ts'
import type { Cli } from '../cli.ts'
import { EXIT } from '../exit-codes.ts'
import { escapeLine } from '../output/escape.ts'
import { examples } from '../output/help.ts'

export function register(program: Command, cli: Cli): void {
  program
    .command('doctor')
    .description('check everything that must hold in a store, and say what to do about what does not')
    .option('--fix', 'put right what can be put right with certainty')
    .addHelpText(
      'after',
      `${examples([
        ['pawl doctor', 'look, and change nothing; exit 1 if something is wrong'],
        ['pawl doctor --fix', 'repair; exit 1 if something is left'],
      ])}\n\nOnly on a store. Without --fix nothing is changed, not even the schema.`,
    )
    .action((options: { fix?: boolean }) => doctor(cli, options.fix === true))
}

async function doctor(cli: Cli, isFixing: boolean): Promise<void> {
  const target = await cli.storeTarget('The doctor reads a database itself.')
  const { examineTarget } = await import('../examine-target.ts')
  const { examination, repairs } = await examineTarget(cli, target, isFixing)
  cli.exitCode = examination.ok ? EXIT.done : EXIT.failed
  if (cli.isJson) {
    return cli.printJson({
      ok: examination.ok,
      checks: examination.checks.map(wireCheck),
      ...(isFixing && { repairs }),
    })
  }
  cli.print(cli.colors.bold(`Examined ${target.description}`))
  for (const repair of repairs) cli.print(`  ${cli.colors.green('repaired')}  ${repairLine(repair)}`)
  for (const check of examination.checks) printCheck(cli, check)
  cli.print(verdictOf(examination))
}

function repairLine({ message, count }: Repair): string {
  return escapeLine(`${message} (${count})`)
}

function wireCheck({ id, title, status, findings }: Check) {
  return {
    id,
    title,
    status,
    findings: findings.map(({ severity, message, advice, rows, count, remedy }) => ({
      severity,
      message,
      advice,
      rows,
      count,
      is_repairable: remedy !== null,
    })),
  }
}

function printCheck(cli: Cli, { id, title, status, findings }: Check): void {
  const { green, red, yellow, dim } = cli.colors
  const word = { ok: green('ok     '), warning: yellow('warning'), fault: red('fault  ') }[status]
  cli.print(`  ${word}  ${dim(escapeLine(id).padEnd(10))}  ${escapeLine(title)}`)
  for (const { message, advice, rows, count } of findings) {
    cli.print(`             ${escapeLine(message)}`)
    if (rows.length > 0)
      cli.print(`             ${escapeLine(rows.join(', '))}${count > rows.length ? `, … (${count} in all)` : ''}`)
    cli.print(`             ${dim(escapeLine(advice))}`)
  }
}

function verdictOf({ ok, checks }: Examination): string {
  const warnings = checks.filter(({ status }) => status === 'warning').length
  const faults = checks.filter(({ status }) => status === 'fault').length
  if (ok) return warnings === 0 ? 'Everything is well.' : `No faults; ${warnings} to look at.`
  return `${faults} of ${checks.length} checks found faults.`
}
