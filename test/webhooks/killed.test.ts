import { expect, test } from 'vitest'
import { select } from '../recovery/database.ts'
import { type Script, startScript } from '../recovery/processes.ts'
import { newDatabasePath, openReceiver, type Received, until, type WebhookReceiver } from './stage.ts'

// Real processes, killed by SIGKILL between an outcome, its message, and the record that it arrived. Whatever is
// committed is told at least once, and each message has the same id however often it comes.

const NODE = new URL('./fixtures/node.mjs', import.meta.url)

const ENDED = ['job.run.completed', 'job.settled']

test('killed between the commit of an outcome and the sending: the next process tells it', async () => {
  const receiver = await openReceiver()
  const file = newDatabasePath()
  const dying = startScript(NODE, { file, enqueue: 1, url: receiver.url, dieAt: 'store:after-commit' })
  expect(await dying.exited).toBe('SIGKILL')
  expect(receiver.received).toEqual([])
  const written = deliveries(file)
  expect(written.map(({ event, status }) => `${event} ${status}`)).toEqual(ENDED.map((event) => `${event} PENDING`))
  const next = await startNode(file)
  await until(() => expect(idsOf(receiver)).toEqual(written.map(({ id }) => id).toSorted()))
  await until(() => expect(deliveries(file).every(({ status }) => status === 'DELIVERED')).toBe(true))
  await leave(next)
  expect(receiver.received).toHaveLength(2)
})

test('killed before the commit of an outcome: it is not told, but what became of the job is', async () => {
  const receiver = await openReceiver()
  const file = newDatabasePath()
  const dying = startScript(NODE, { file, enqueue: 1, url: receiver.url, dieAt: 'store:before-commit' })
  expect(await dying.exited).toBe('SIGKILL')
  expect(deliveries(file)).toEqual([])
  const next = await startNode(file)
  await until(() => expect(receiver.told()).toEqual(['job.run.completed', 'job.run.failed, will retry', 'job.settled']))
  expect(receiver.about('job.run.failed')).toMatchObject([{ reason: 'crash' }])
  await leave(next)
})

test('killed while a message is on its way: another process sends it again, with the same id', async () => {
  const file = newDatabasePath()
  let dying: Script | undefined
  const receiver = await openReceiver((_one, nth) => {
    if (nth > 1) return 204
    dying?.kill('SIGKILL')
    return 'never'
  })
  const other = await startNode(file, { executes: false })
  // Who executes hears of the outcome first, and sends at once.
  dying = startScript(NODE, { file, enqueue: 1, url: receiver.url })
  expect(await dying.exited).toBe('SIGKILL')
  await until(() => expect(deliveries(file).map(({ status }) => status)).toEqual(['DELIVERED', 'DELIVERED']))
  const { received } = receiver
  expect(new Set(received.map(({ id }) => id)).size).toBe(2)
  expect(received.length).toBeGreaterThan(2)
  expect(sameTexts(received)).toBe(true)
  await leave(other)
})

test('two processes that live send each message once', async () => {
  const receiver = await openReceiver()
  const file = newDatabasePath()
  const nodes = [await startNode(file), await startNode(file)]
  const third = await startNode(file, { enqueue: 100, url: receiver.url })
  await until(() => expect(deliveries(file).filter(({ status }) => status === 'DELIVERED')).toHaveLength(200))
  expect(receiver.received).toHaveLength(200)
  expect(idsOf(receiver)).toEqual(
    deliveries(file)
      .map(({ id }) => id)
      .toSorted(),
  )
  for (const node of [...nodes, third]) await leave(node)
})

async function startNode(file: string, plan: object = {}): Promise<Script> {
  const node = startScript(NODE, { file, ...plan })
  await node.tells('started')
  return node
}

async function leave(node: Script): Promise<void> {
  node.child.stdin?.write('leave\n')
  expect(await node.exited).toBe(0)
}

function deliveries(file: string): { id: string; event: string; status: string }[] {
  const rows = select(file, 'select delivery_id, event, status from pawl_deliveries order by delivery_seq')
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
