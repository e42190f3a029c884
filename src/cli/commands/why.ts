import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { escapeLine } from '../output/escape.ts'
import { examples } from '../output/help.ts'
import { padEnd, widthOf } from '../output/width.ts'

export function register(program: Command, cli: Cli): void {
  program
    .command('why')
    .description('say why a job does not run, where it runs, or how it ended')
    .argument('<job>', 'the id of the job, in full')
    .addHelpText('after', examples([['pawl why <job>', 'all reasons, the most decisive first']]))
    .action((jobId: string) => why(cli, jobId))
}

async function why(cli: Cli, jobId: string): Promise<void> {
  await cli.withClient('read', async (client) => {
    const answer = await client.request('GET /api/jobs/{job_id}/why', { params: { job_id: jobId } })
    if (cli.isJson) return cli.printJson(answer)
    const { bold, dim } = cli.colors
    const { queue_rank_text: rank, summary } = answer
    // What the summary has said already is not said twice.
    const told = answer.reasons.filter(({ message }) => isPartOf(summary, message))
    const untold = answer.reasons.filter((reason) => !told.includes(reason))
    const codes = told.length === 0 ? '' : ` ${dim(`(${told.map(({ code }) => code).join(', ')})`)}`
    cli.print(`${bold(escapeLine(summary))}${codes}`)
    const lines = [...(rank === null ? [] : [{ code: 'rank', message: rank }]), ...untold]
    const width = Math.max(...lines.map(({ code }) => widthOf(code)), 0)
    for (const { code, message } of lines) cli.print(`  ${dim(padEnd(code, width))}  ${escapeLine(message)}`)
  })
}

function isPartOf(summary: string, message: string): boolean {
  return summary.toLowerCase().includes(message.replace(/[.…]$/, '').toLowerCase())
}
