import type { Command } from 'commander'
import type { BodyOf } from '../../client/request.ts'
import { choice } from '../choice.ts'
import type { Cli } from '../cli.ts'
import { usageError } from '../cli-error.ts'
import { printDetails } from '../output/details.ts'
import { escapeLine } from '../output/escape.ts'
import { examples } from '../output/help.ts'
import { type PageOptions, printPage, readPages, withPageOptions } from '../output/list.ts'
import { fullTime } from '../output/times.ts'
import { deliveryColumns, printWebhook, webhookColumns } from '../output/webhooks.ts'
import { collect, given, readInstantOption, readWordOption } from '../read-options.ts'

const WEBHOOK = 'the id of the webhook'
const EVENTS = ['job.run.completed', 'job.run.failed', 'job.run.skipped', 'job.cancelled', 'job.settled'] as const

export function register(program: Command, cli: Cli): void {
  const webhooks = program
    .command('webhooks')
    .description('tell others how jobs ended')
    .addHelpText(
      'after',
      examples([
        ['pawl webhooks create https://example.com/hooks/pawl --event job.settled', 'tell somebody'],
        ['pawl webhooks deliveries <webhook> --status FAILED', 'what did not arrive'],
        ['pawl webhooks replay <webhook> --status FAILED', 'send that again'],
      ]),
    )
  registerReading(webhooks, cli)
  registerMaking(webhooks, cli)
  registerSecrets(webhooks, cli)
}

function registerReading(webhooks: Command, cli: Cli): void {
  withPageOptions(webhooks.command('list').alias('ls'))
    .description('list webhooks, newest first')
    .addHelpText('after', examples([['pawl webhooks list', 'all webhooks']]))
    .action((options: PageOptions) => list(cli, options))

  webhooks
    .command('show')
    .description('show one webhook')
    .argument('<webhook>', WEBHOOK)
    .addHelpText('after', examples([['pawl webhooks show <webhook>', 'one webhook']]))
    .action((id: string) => show(cli, id))

  withPageOptions(webhooks.command('deliveries'))
    .description('list what was sent, newest first')
    .argument('[webhook]', `${WEBHOOK}; without it, what was sent to anybody`)
    .addOption(
      choice('--status <status>', 'only these: PENDING, DELIVERED, FAILED', ['PENDING', 'DELIVERED', 'FAILED']),
    )
    .option('--job <job>', 'only about this job; without a webhook')
    .addHelpText(
      'after',
      examples([
        ['pawl webhooks deliveries <webhook> --status FAILED', 'what did not arrive'],
        ['pawl webhooks deliveries --job <job>', 'who was told of a job'],
      ]),
    )
    .action((id: string | undefined, options: DeliveryOptions) => deliveries(cli, id, options))
}

function withFields(command: Command): Command {
  return command
    .option('--event <event>', `only these, may be given several times: ${EVENTS.join(', ')} (default: all)`, collect)
    .option('--type <type>', 'only of this job type; may be given several times (default: all)', collect)
    .option('--name <text>', 'a name for people')
}

function registerMaking(webhooks: Command, cli: Cli): void {
  withFields(webhooks.command('create'))
    .description('make a webhook; its secret is shown this once')
    .argument('<url>', 'where to send')
    .option('--disabled', 'send nothing yet')
    .addHelpText(
      'after',
      examples([
        [
          'pawl webhooks create https://example.com/hooks/pawl --event job.run.failed --type story',
          'failures of one type',
        ],
      ]),
    )
    .action((url: string, options: Fields & { disabled?: boolean }) => create(cli, url, options))

  withFields(webhooks.command('change'))
    .description('change whom is told, and of what')
    .argument('<webhook>', WEBHOOK)
    .option('--url <url>', 'where to send')
    .option('--all-events', 'all events again')
    .option('--all-types', 'all job types again')
    .option('--enable', 'send again, also what waited')
    .option('--disable', 'send nothing for now')
    .addHelpText('after', examples([['pawl webhooks change <webhook> --disable', 'a pause']]))
    .action((id: string, options: ChangeOptions) => change(cli, id, options))

  webhooks
    .command('remove')
    .alias('rm')
    .description('send nothing more to a webhook; its log stays')
    .argument('<webhook>', WEBHOOK)
    .addHelpText('after', examples([['pawl webhooks remove <webhook>', 'for ever']]))
    .action((id: string) => remove(cli, id))

  webhooks
    .command('replay')
    .description('send again: one delivery, or all of a webhook with a status')
    .argument('<id>', 'the id of a delivery; with --status that of a webhook')
    .addOption(
      choice('--status <status>', 'all of the webhook with this status: FAILED or DELIVERED', ['FAILED', 'DELIVERED']),
    )
    .option('--since <instant>', 'with --status: only those made since then')
    .addHelpText(
      'after',
      examples([
        ['pawl webhooks replay <delivery>', 'one of them'],
        ['pawl webhooks replay <webhook> --status FAILED --since 2026-11-16T08:00:00Z', 'all that failed since then'],
      ]),
    )
    .action((id: string, options: ReplayOptions) => replay(cli, id, options))
}

function registerSecrets(webhooks: Command, cli: Cli): void {
  webhooks
    .command('rotate')
    .description('make a new secret, shown this once; the old one signs too for a day')
    .argument('[webhook]', `${WEBHOOK}; without it, the secret of jobs with a --webhook-url`)
    .addHelpText('after', examples([['pawl webhooks rotate <webhook>', 'a new secret']]))
    .action((id: string | undefined) => rotate(cli, id))

  webhooks
    .command('secret')
    .description('print the secret that signs what is sent to the --webhook-url of jobs')
    .addHelpText('after', examples([['pawl webhooks secret', 'made when first asked for']]))
    .action(() => secret(cli))
}

async function list(cli: Cli, options: PageOptions): Promise<void> {
  await cli.withClient('read', async (client) => {
    const page = await readPages(cli, options, (query) => client.request('GET /api/webhooks', { query }))
    printPage(cli, page, webhookColumns(cli), {
      line: 'There are no webhooks yet.',
      hint: 'Make one with `pawl webhooks create <url>`.',
    })
  })
}

async function show(cli: Cli, id: string): Promise<void> {
  await cli.withClient('read', async (client) => {
    const webhook = await client.request('GET /api/webhooks/{webhook_id}', { params: { webhook_id: id } })
    if (cli.isJson) return cli.printJson(webhook)
    printWebhook(cli, webhook)
  })
}

interface DeliveryOptions extends PageOptions {
  readonly status?: string
  readonly job?: string
}

async function deliveries(cli: Cli, id: string | undefined, options: DeliveryOptions): Promise<void> {
  if (id !== undefined && options.job !== undefined) throw usageError('Expected a webhook or --job, got both.')
  const status = given({ status: readWordOption(options.status, ['PENDING', 'DELIVERED', 'FAILED'], '--status') })
  await cli.withClient('read', async (client) => {
    const page = await readPages(cli, options, (query) =>
      id === undefined
        ? client.request('GET /api/webhook-deliveries', {
            query: { ...query, ...status, ...given({ job_id: options.job }) },
          })
        : client.request('GET /api/webhooks/{webhook_id}/deliveries', {
            params: { webhook_id: id },
            query: { ...query, ...status },
          }),
    )
    printPage(cli, page, deliveryColumns(cli), { line: 'Nothing was sent.' })
  })
}

interface Fields {
  readonly event?: readonly string[]
  readonly type?: string[]
  readonly name?: string
}

function readFields({ event, type, name }: Fields) {
  const events = event?.map((word) => readWordOption(word, EVENTS, '--event') as (typeof EVENTS)[number])
  return given({ events, job_types: type, name })
}

async function create(cli: Cli, url: string, options: Fields & { disabled?: boolean }): Promise<void> {
  const body = { url, ...readFields(options), ...(options.disabled === true && { enabled: false }) }
  await cli.withClient('create', async (client) => {
    const webhook = await client.request('POST /api/webhooks', { body })
    if (cli.isJson) return cli.printJson(webhook)
    printWebhook(cli, webhook)
    printSecret(cli, webhook.secret)
  })
}

interface ChangeOptions extends Fields {
  readonly url?: string
  readonly allEvents?: boolean
  readonly allTypes?: boolean
  readonly enable?: boolean
  readonly disable?: boolean
}

async function change(cli: Cli, id: string, options: ChangeOptions): Promise<void> {
  refuseBoth(options.enable, options.disable, '--enable or --disable')
  refuseBoth(options.allEvents, options.event, '--event or --all-events')
  refuseBoth(options.allTypes, options.type, '--type or --all-types')
  const body: BodyOf<'PATCH /api/webhooks/{webhook_id}'> = {
    ...readFields(options),
    ...given({ url: options.url }),
    ...(options.allEvents === true && { events: null }),
    ...(options.allTypes === true && { job_types: null }),
    ...(options.enable === true && { enabled: true }),
    ...(options.disable === true && { enabled: false }),
  }
  if (Object.keys(body).length === 0) throw usageError('Expected something to change, such as --url or --disable.')
  await cli.withClient('change', async (client) => {
    const webhook = await client.request('PATCH /api/webhooks/{webhook_id}', { params: { webhook_id: id }, body })
    if (cli.isJson) return cli.printJson(webhook)
    printWebhook(cli, webhook)
  })
}

function refuseBoth(one: unknown, other: unknown, names: string): void {
  if (one !== undefined && other !== undefined) throw usageError(`Expected ${names}, got both.`)
}

async function remove(cli: Cli, id: string): Promise<void> {
  await cli.withClient('change', async (client) => {
    await client.request('DELETE /api/webhooks/{webhook_id}', { params: { webhook_id: id } })
    if (cli.isJson) return cli.printJson({ webhook_id: id, removed: true })
    cli.print(`Webhook ${escapeLine(id)} is removed. Its log stays.`)
  })
}

interface ReplayOptions {
  readonly status?: string
  readonly since?: string
}

async function replay(cli: Cli, id: string, options: ReplayOptions): Promise<void> {
  const status = readWordOption(options.status, ['FAILED', 'DELIVERED'], '--status')
  const since = readInstantOption(options.since, '--since')
  if (status === undefined && since !== undefined) throw usageError('--since needs --status and the id of a webhook.')
  await cli.withClient('change', async (client) => {
    if (status === undefined) {
      const delivery = await client.request('POST /api/webhook-deliveries/{delivery_id}/replay', {
        params: { delivery_id: id },
        body: {},
      })
      if (cli.isJson) return cli.printJson(delivery)
      return cli.print(
        `Delivery ${delivery.delivery_id} is ${delivery.status}, and is sent by the next process that executes.`,
      )
    }
    const params = { webhook_id: id }
    const answer = await client.request('POST /api/webhooks/{webhook_id}/replay', {
      params,
      body: { status, ...given({ since }) },
    })
    if (cli.isJson) return cli.printJson(answer)
    cli.print(`${answer.count} ${answer.count === 1 ? 'delivery is' : 'deliveries are'} pending again.`)
  })
}

async function rotate(cli: Cli, id: string | undefined): Promise<void> {
  await cli.withClient('change', async (client) => {
    const rotated =
      id === undefined
        ? await client.request('POST /api/webhook-secret/rotate', { body: {} })
        : await client.request('POST /api/webhooks/{webhook_id}/rotate-secret', {
            params: { webhook_id: id },
            body: {},
          })
    if (cli.isJson) return cli.printJson(rotated)
    printSecret(cli, rotated.secret)
    cli.print(`The one before signs too until ${fullTime(rotated.previous_until, cli.clock.now())}.`)
  })
}

async function secret(cli: Cli): Promise<void> {
  await cli.withClient('change', async (client) => {
    const answer = await client.request('GET /api/webhook-secret', {})
    if (cli.isJson) return cli.printJson(answer)
    cli.print(answer.secret)
  })
}

function printSecret(cli: Cli, text: string): void {
  printDetails(cli, 'Keep this secret; it is not shown again.', [['secret', text]])
}
