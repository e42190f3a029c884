import { expect, test } from 'vitest'
import { type Script, startScript } from '../recovery/processes.ts'
import { SharedDatabase } from '../stores/shared-database.ts'
import { storeKind } from '../stores/source-stores.ts'
import { openReceiver, type Received, until, type WebhookReceiver } from './stage.ts'

// Real processes, killed by SIGKILL between an outcome, its message, and the record that it arrived. Whatever is
// committed is told at least once, and each message has the same id however often it comes.

const NODE = new URL('./fixtures/node.mjs', import.meta.url)

const ENDED = ['job.run.completed', 'job.settled']

test('killed between the commit of an outcome and the sending: the next process tells it', async () => {
  const receiver = await openReceiver()
  const { database, written } = await killedAfterCommit(receiver.url)
  expect(receiver.received).toEqual([])
  expect(written.map(({ event, status }) => `${event} ${status}`)).toEqual(ENDED.map((event) => `${event} PENDING`))
  const next = await startNode(database)
  await until(() => expect(idsOf(receiver)).toEqual(written.map(({ id }) => id).toSorted()))
  await until(async () => expect((await deliveries(database)).every(({ status }) => status === 'DELIVERED')).toBe(true))
  await leave(next)
  expect(receiver.received).toHaveLength(2)
})

/** On a server other commits of the same process are on their way as well, and another one may have come first: then the next. */
async function killedAfterCommit(url: string) {
  for (let nth = 1; ; nth++) {
    const database = new SharedDatabase()
    const plan = { store: database.address, enqueue: 1, url, dieAt: 'store:after-commit', nth }
    expect(await startScript(NODE, plan).exited).toBe('SIGKILL')
    await database.outlives()
    const written = await deliveries(database)
    if (storeKind === 'sqlite' || written.length > 0) return { database, written }
  }
}

test('killed before the commit of an outcome: it is not told, but what became of the job is', async () => {
  const receiver = await openReceiver()
  const database = new SharedDatabase()
  const dying = startScript(NODE, {
    store: database.address,
    enqueue: 1,
    url: receiver.url,
    dieAt: 'store:before-commit',
  })
  expect(await dying.exited).toBe('SIGKILL')
  await database.outlives()
  expect(await deliveries(database)).toEqual([])
  const next = await startNode(database)
  await until(() => expect(receiver.told()).toEqual(['job.run.completed', 'job.run.failed, will retry', 'job.settled']))
  expect(receiver.about('job.run.failed')).toMatchObject([{ reason: 'crash' }])
  await leave(next)
})

test('killed while a message is on its way: another process sends it again, with the same id', async () => {
  const database = new SharedDatabase()
  let dying: Script | undefined
  const receiver = await openReceiver((_one, nth) => {
    if (nth > 1) return 204
    dying?.kill('SIGKILL')
    return 'never'
  })
  const other = await startNode(database, { executes: false })
  // Who executes hears of the outcome first, and sends at once.
  dying = startScript(NODE, { store: database.address, name: 'dying', enqueue: 1, url: receiver.url })
  expect(await dying.exited).toBe('SIGKILL')
  await database.outlives('dying')
  await until(async () =>
    expect((await deliveries(database)).map(({ status }) => status)).toEqual(['DELIVERED', 'DELIVERED']),
  )
  const { received } = receiver
  expect(new Set(received.map(({ id }) => id)).size).toBe(2)
  expect(received.length).toBeGreaterThan(2)
  expect(sameTexts(received)).toBe(true)
  await leave(other)
})

test('two processes that live send each message once', async () => {
  const receiver = await openReceiver()
  const database = new SharedDatabase()
  const nodes = [await startNode(database), await startNode(database)]
  const third = await startNode(database, { enqueue: 100, url: receiver.url })
  await until(async () =>
    expect((await deliveries(database)).filter(({ status }) => status === 'DELIVERED')).toHaveLength(200),
  )
  expect(receiver.received).toHaveLength(200)
  expect(idsOf(receiver)).toEqual((await deliveries(database)).map(({ id }) => id).toSorted())
  for (const node of [...nodes, third]) await leave(node)
})

async function startNode({ address: store }: SharedDatabase, plan: object = {}): Promise<Script> {
  const node = startScript(NODE, { store, ...plan })
  await node.tells('started')
  return node
}

async function leave(node: Script): Promise<void> {
  node.child.stdin?.write('leave\n')
  expect(await node.exited).toBe(0)
}

async function deliveries(database: SharedDatabase): Promise<{ id: string; event: string; status: string }[]> {
  const rows = await database.select('select delivery_id, event, status from pawl_deliveries order by delivery_seq')
  return rows.map((row) => ({
    id: String(row['delivery_id']),
    event: String(row['event']),
    status: String(row['status']),
  }))
}

function idsOf(receiver: WebhookReceiver): string[] {
  return [...new Set(receiver.received.map(({ id }) => id))].toSorted()
}

function sameTexts(received: readonly Received[]): boolean {
  const texts = new Map(received.map(({ id, text }) => [id, text]))
  return received.every(({ id, text }) => texts.get(id) === text)
}
