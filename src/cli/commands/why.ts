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
    const { queue_rank_text: rank, reasons } = answer
    const [first, ...others] = reasons
    if (rank === null && first !== undefined && others.length === 0) {
      // The summary has said it already.
      cli.print(`${bold(escapeLine(answer.summary))} ${dim(`(${first.code})`)}`)
      return
    }
    cli.print(bold(escapeLine(answer.summary)))
    const lines = [...(rank === null ? [] : [{ code: 'rank', message: rank }]), ...reasons]
    const width = Math.max(...lines.map(({ code }) => widthOf(code)))
    for (const { code, message } of lines) cli.print(`  ${dim(padEnd(code, width))}  ${escapeLine(message)}`)
  })
}
