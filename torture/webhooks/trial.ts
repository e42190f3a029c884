import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Chance } from '../chance.ts'
import { tortureFile } from '../package-root.ts'
import { GOOD, HOSTILE } from './behaviours.ts'
import { GOOD_NAME, type Received, Receiver, TRUSTED } from './receiver.ts'

/** So much faster goes the sender's clock. Not more: a lease, 40 s there, lasts longer than a post, 10 s here. */
export const SPEED = 3.5

/** Nobody may send there: only 127.0.0.1 is listed. */
const FORBIDDEN = '127.0.0.2'

const EVENTS = ['job.run.completed', 'job.run.failed', 'job.settled'] as const

/** A webhook that was asked for, with who is behind it. */
export interface Subscription {
  readonly name: string
  readonly url: string
  /** Null: nobody that may be reached. */
  readonly receiver: Receiver | null
}

/** What the sender says it has made of it. */
export interface Made {
  readonly name: string
  readonly webhookId?: string
  readonly secret?: string
  /** The code with which it was refused when it was to be saved. */
  readonly refused?: string
}

export interface EndedJob {
  readonly jobId: string
  readonly outcome: string
}

/** All that was seen from outside. */
export interface Seen {
  readonly file: string
  readonly subscriptions: readonly Subscription[]
  readonly made: readonly Made[]
  readonly jobs: readonly EndedJob[]
  readonly enqueued: number
  /** How often somebody connected to the address to which nobody may. */
  readonly forbiddenConnections: number
  /** How long closing took. Null: it did not end. */
  readonly closedMs: number | null
  readonly memoryMb: number
  /** By the sender's clock. */
  readonly now: number
}

type Message =
  | { readonly kind: 'ready'; readonly made: readonly Made[] }
  | { readonly kind: 'ended'; readonly jobId: string; readonly outcome: string }
  | { readonly kind: 'memory'; readonly mb: number }
  | { readonly kind: 'closed'; readonly ms: number; readonly now: number }

/** However many others hang, good receivers go on hearing: nothing new for so long is an end. Generous, for a busy machine. */
export const TOLD_WITHIN_MS = 20_000

/** How long closing may take while posts hang: they get 2 s, and the store as long again. */
export const CLOSES_WITHIN_MS = 8_000
const READY_WITHIN_MS = 60_000

/** One life of a sender among good receivers and hostile ones. `look` is shown what was seen, while the file is there. */
export async function runTrial(
  chance: Chance,
  lastsMs: number,
  signal: AbortSignal,
  look: (seen: Seen) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-webhooks-'))
  const forbidden = await listenForbidden()
  const receivers: Receiver[] = []
  let child: ChildProcess | null = null
  try {
    const chosen = [...chance.shuffled(GOOD).slice(0, 2), ...chance.shuffled(HOSTILE).slice(0, chance.between(4, 9))]
    for (const behaviour of chosen) receivers.push(await Receiver.open(behaviour, forbidden.url))
    const subscriptions = subscriptionsTo(receivers, forbidden.port)
    const file = join(folder, 'pawl.db')
    child = startSender(folder)
    const sender = new Sender(child)
    sender.send({
      file,
      speed: SPEED,
      names: namesOf(),
      webhooks: chance.shuffled(subscriptions).map(({ name, url }) => ({ name, url, events: EVENTS })),
    })
    const made = await sender.ready()
    const enqueued = await live(chance, sender, lastsMs, signal)
    const good = receivers.filter(({ behaviour }) => behaviour.kind === 'good')
    const isTold = () => good.every(({ received }) => untoldOf(sender.jobs, received).length === 0)
    const heard = () => good.reduce((sum, { received }) => sum + received.length, sender.jobs.length)
    await untilStill(() => sender.jobs.length === enqueued && isTold(), heard, signal)
    const { memoryMb, closedMs, now } = await sender.close()
    const { connections } = forbidden
    const told = { file, subscriptions, made, enqueued, memoryMb, closedMs, now }
    await look({ ...told, jobs: sender.jobs, forbiddenConnections: connections() })
  } finally {
    child?.kill('SIGKILL')
    await Promise.all([forbidden.close(), ...receivers.map((receiver) => receiver.close())])
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Jobs end in the first half of the time, so that the rest is enough to tell of them. */
async function live(chance: Chance, sender: Sender, lastsMs: number, signal: AbortSignal): Promise<number> {
  const count = chance.between(5, 20)
  const endsAt = performance.now() + lastsMs
  for (let n = 0; n < count && !signal.aborted; n++) {
    sender.send({ kind: 'enqueue', type: chance.is(0.7) ? 'completes' : 'fails', n })
    await delay(chance.below(lastsMs / 2 / count))
  }
  await delay(Math.max(0, signal.aborted ? 0 : endsAt - performance.now()), undefined, { signal }).catch(() => {})
  return count
}

/** Until it holds, or until nothing has happened for long. */
async function untilStill(holds: () => boolean, happened: () => number, signal: AbortSignal): Promise<void> {
  let [last, since] = [happened(), performance.now()]
  while (!holds() && performance.now() - since < TOLD_WITHIN_MS && !signal.aborted) {
    await delay(20)
    if (happened() !== last) [last, since] = [happened(), performance.now()]
  }
}

/** What of these Jobs a receiver has not heard of. */
export function untoldOf(
  jobs: readonly EndedJob[],
  received: readonly Received[],
): { readonly jobId: string; readonly event: string }[] {
  const told = new Set(received.map(({ body }) => subjectOf(body)))
  const events = jobs.flatMap(({ jobId, outcome }) => [
    { jobId, event: outcome === 'COMPLETED' ? 'job.run.completed' : 'job.run.failed' },
    { jobId, event: 'job.settled' },
  ])
  return events.filter(({ jobId, event }) => !told.has(`${jobId} ${event}`))
}

function subjectOf(body: string): string {
  const { event, job } = JSON.parse(body) as { readonly event: string; readonly job: { readonly job_id: string } }
  return `${job.job_id} ${event}`
}

function subscriptionsTo(receivers: readonly Receiver[], forbiddenPort: number): Subscription[] {
  const refused = (name: string, host: string) => ({
    name,
    url: `http://${host}:${forbiddenPort}/hook`,
    receiver: null,
  })
  return [
    ...receivers.map((receiver) => ({ name: receiver.behaviour.name, url: receiver.url, receiver })),
    refused('is at a forbidden address', FORBIDDEN),
    refused('turns to a forbidden address when it is called', 'rebound.test'),
    refused('turns there and back', 'turning.test'),
    refused('has a right and a forbidden address', 'both.test'),
  ]
}

/** What the resolver says, one answer after the other: first when a webhook is saved, then each time it is called. */
function namesOf(): Record<string, string[][]> {
  const [right, wrong] = [['127.0.0.1'], [FORBIDDEN]]
  return {
    [GOOD_NAME]: [right],
    'rebound.test': [right, wrong],
    'turning.test': [right, ...Array.from({ length: 50 }, (_, n) => (n % 2 === 0 ? wrong : right))],
    'both.test': [right, [...right, ...wrong]],
  }
}

function startSender(folder: string): ChildProcess {
  const authorities = join(folder, 'trusted.pem')
  writeFileSync(authorities, TRUSTED)
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: authorities }
  return fork(tortureFile('webhooks/node.mjs'), { cwd: folder, env, execArgv: ['--max-old-space-size=128'] })
}

class Sender {
  readonly jobs: EndedJob[] = []
  readonly #child: ChildProcess

  constructor(child: ChildProcess) {
    this.#child = child
    child.on('message', (message: Message) => {
      if (message.kind === 'ended') this.jobs.push(message)
    })
  }

  send(message: object): void {
    if (this.#child.connected) this.#child.send(message, () => {})
  }

  async ready(): Promise<readonly Made[]> {
    const message = await this.#hear('ready', READY_WITHIN_MS)
    if (message === null) throw new Error('The sender did not start')
    return message.made
  }

  async close(): Promise<{ memoryMb: number; closedMs: number | null; now: number }> {
    this.send({ kind: 'memory' })
    const memory = await this.#hear('memory', CLOSES_WITHIN_MS)
    const exited = new Promise<void>((resolve) => this.#child.once('exit', () => resolve()))
    this.send({ kind: 'close' })
    const closed = await this.#hear('closed', 5 * CLOSES_WITHIN_MS)
    if (closed !== null) await exited
    return { memoryMb: memory?.mb ?? 0, closedMs: closed?.ms ?? null, now: closed?.now ?? Date.now() }
  }

  #hear<Kind extends Message['kind']>(kind: Kind, withinMs: number): Promise<Extract<Message, { kind: Kind }> | null> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return Promise.resolve(null)
    return new Promise((resolve) => {
      const end = (message: Extract<Message, { kind: Kind }> | null) => {
        clearTimeout(timer)
        this.#child.off('message', onMessage)
        this.#child.off('exit', onExit)
        resolve(message)
      }
      const onMessage = (message: Message) => {
        if (message.kind === kind) end(message as Extract<Message, { kind: Kind }>)
      }
      const onExit = () => end(null)
      const timer = setTimeout(() => end(null), withinMs)
      this.#child.on('message', onMessage)
      this.#child.once('exit', onExit)
    })
  }
}

interface Forbidden {
  readonly port: number
  readonly url: string
  readonly connections: () => number
  readonly close: () => Promise<void>
}

async function listenForbidden(): Promise<Forbidden> {
  let connections = 0
  const server = createServer((_, response) => void response.end('secret'))
  server.on('connection', () => {
    connections++
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, FORBIDDEN, resolve)
  })
  const { port } = server.address() as AddressInfo
  const close = () => {
    server.closeAllConnections()
    return new Promise<void>((resolve) => void server.close(() => resolve()))
  }
  return { port, url: `http://${FORBIDDEN}:${port}/secret`, connections: () => connections, close }
}
