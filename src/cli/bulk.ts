import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import type { Client } from '../client/index.ts'
import type { BodyOf } from '../client/request.ts'
import type { Cli } from './cli.ts'
import { usageError } from './cli-error.ts'
import { lookUntil } from './follow.ts'
import { type JobFilterOptions, readJobFilter } from './job-filter.ts'
import { operationLine } from './output/operations.ts'
import type { Operation } from './wire.ts'

export interface BulkOptions extends JobFilterOptions {
  readonly all?: boolean
  readonly dryRun?: boolean
  readonly yes?: boolean
}

/** Gives a command for one job the options to work on many. */
export function withBulkOptions(command: Command): Command {
  return command
    .option('--all', 'all jobs that match the following, instead of those that are named')
    .option('--dry-run', 'only say how many jobs it would be')
    .option('--yes', 'do not ask before many jobs are changed')
}

type Order = Pick<BodyOf<'POST /api/operations'>, 'kind' | 'mode' | 'reason'>

/** True: it is about many jobs. One that is named is steered by itself. */
export function isBulk(jobIds: readonly string[], options: BulkOptions): boolean {
  const filters = Object.keys(readJobFilter(options))
  if (options.all === true && jobIds.length > 0) throw usageError('Expected the ids of jobs or --all, got both.')
  if (options.all === true) return true
  if (filters.length > 0)
    throw usageError(`Expected --all with --${filters[0]?.replace('_id', '').replace('_', '-')}: all that match.`)
  if (jobIds.length === 0) throw usageError('Expected the id of a job, or --all with --type and the like.')
  return jobIds.length > 1 || options.dryRun === true
}

/** Counts, asks, starts the operation and waits for its end. */
export async function changeMany(
  cli: Cli,
  order: Order,
  jobIds: readonly string[],
  options: BulkOptions,
): Promise<void> {
  const which = options.all === true ? { filter: readJobFilter(options) } : { job_ids: [...jobIds] }
  const body = { ...order, ...which }
  if (options.yes !== true && options.dryRun !== true && !canAsk(cli)) {
    throw usageError('Expected --yes, because nobody can be asked here. --dry-run says how many jobs it would be.')
  }
  await cli.withClient('change', async (client) => {
    if (options.yes !== true) {
      const match = await client.request('POST /api/operations', { body: { ...body, dry_run: true } })
      if (options.dryRun === true && cli.isJson) return cli.printJson(match)
      const jobs = `${match.matched}${match.matched_or_more ? ' or more' : ''} ${match.matched === 1 ? 'job' : 'jobs'}`
      if (options.dryRun === true) return cli.print(`It would ${order.kind} ${jobs}.`)
      if (match.matched === 0) return cli.print(`No job to ${order.kind} matches.`)
      if (!(await confirm(cli, `${order.kind === 'cancel' ? 'Cancel' : 'Retry'} ${jobs}? [y/N] `))) {
        cli.exitCode = 1
        return cli.print('Nothing was changed.')
      }
    }
    const operation = (await client.request('POST /api/operations', { body })) as Operation
    await followOperation(cli, client, operation.operation_id)
  })
}

function canAsk(cli: Cli): boolean {
  return cli.io.stdin.isTTY === true && !cli.isJson
}

async function confirm(cli: Cli, question: string): Promise<boolean> {
  cli.stderr.write(question)
  const lines = createInterface({ input: cli.io.stdin })
  try {
    const answer = await cli.orInterrupted(
      new Promise<string>((resolve) => {
        lines.once('line', resolve)
        lines.once('close', () => resolve(''))
      }),
    )
    return /^y(es)?$/i.test(answer.trim())
  } finally {
    lines.close()
  }
}

/** Tells how far it is until it has ended. Who leaves meanwhile ends only the waiting. */
async function followOperation(cli: Cli, client: Client, operationId: string): Promise<void> {
  const params = { operation_id: operationId }
  let before = -1
  try {
    const ended = await lookUntil(cli, async () => {
      const operation = await client.request('GET /api/operations/{operation_id}', { params })
      if (operation.status !== 'RUNNING') return operation
      const isNew = operation.done !== before
      before = operation.done
      if (isNew && cli.stderr.isTTY) cli.note(operationLine(operation))
      return isNew ? 'changed' : null
    })
    if (ended.failed > 0 || ended.status === 'ABORTED') cli.exitCode = 1
    if (cli.isJson) return cli.printJson(ended)
    cli.print(operationLine(ended))
  } catch (error) {
    if (cli.interrupted.aborted) {
      cli.note(`Operation ${operationId} is stored, and goes on wherever a node lives.`)
      cli.note(`See how far it is: pawl operations show ${operationId}`)
      cli.note(`Stop it: pawl operations abort ${operationId}`)
    }
    throw error
  }
}
