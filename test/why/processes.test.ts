import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { openScheduler } from '../../src/index.ts'
import { PATIENCE, startScript } from '../recovery/processes.ts'
import { SharedDatabase } from '../stores/shared-database.ts'
import { storeAt } from '../stores/source-stores.ts'

// A node is a process of its own; this one only enqueues and asks.

const NODE = new URL('../direct/fixtures/node.mjs', import.meta.url)

test('another process is asked about, and believed to be dead as soon as it is', { timeout: 60_000 }, async () => {
  const database = new SharedDatabase()
  const { address: store, folder } = database
  const options = { concurrency: 2 }
  const node = startScript(NODE, { store, folder, name: 'cellar', types: ['work', 'gpu'], options })
  const nodeId = await node.tells<string>('opened')
  await using scheduler = await openScheduler({ store: storeAt(store) })
  const [first, second] = await scheduler.enqueueMany([
    { type: 'gpu', params: 'first' },
    { type: 'gpu', params: 'second' },
  ])
  const runId = await vi.waitFor(async () => {
    const run = await scheduler.findRunOfJob(first.jobId)
    if (run === null) throw new Error('It has not begun.')
    return run.runId
  }, PATIENCE)

  expect(await first.why()).toMatchObject({
    state: 'RUNNING',
    reasons: [{ code: 'running', runId, nodeId, nodeName: 'cellar' }],
  })
  const waiting = await second.why()
  expect(waiting.reasons).toMatchObject([
    { code: 'resource_limit', name: 'resource:gpu', holders: [{ runId, jobId: first.jobId, nodeId, nodeAlive: true }] },
  ])
  expect(waiting.summary).toMatch(/has held it for .* on node cellar\.$/)

  node.kill('SIGKILL')
  expect(await node.exited).toBe('SIGKILL')
  await database.outlives('cellar')
  expect((await first.why()).reasons).toMatchObject([
    { code: 'running', nodeId },
    {
      code: 'node_dead',
      message:
        'Node cellar is dead: no node is alive, so the run ends with reason `crash` as soon as one starts, or by `pawl doctor --fix`.',
      nodeId,
      nodeName: 'cellar',
    },
  ])
  expect((await second.why()).reasons).toMatchObject([
    { code: 'no_node', message: 'No living node handles `gpu`; dead: cellar.', dead: [{ nodeId, name: 'cellar' }] },
    {
      code: 'resource_limit',
      message: expect.stringMatching(/on node cellar, which is dead: the next node that starts ends it\.$/),
      holders: [{ runId, nodeAlive: false }],
    },
  ])

  // Another node buries it, and ends what it left.
  for (const params of ['first', 'second']) writeFileSync(join(folder, `go-${params}`), '')
  const heir = startScript(NODE, { store, folder, name: 'attic', types: ['work', 'gpu'], options })
  await heir.tells('opened')
  await first.settled()
  const codes = (await first.why()).reasons.map(({ code }) => code)
  expect(codes).toEqual(['failed', 'retry_follows', 'settled'])
  expect((await first.why()).reasons).toMatchObject([
    { reason: 'crash', nodeName: 'cellar' },
    { attempt: 2, status: 'FINISHED', outcome: 'COMPLETED', byHand: false },
    { outcome: 'COMPLETED', attempts: 2 },
  ])
  heir.kill('SIGTERM')
  await heir.exited
})

test('a body that outlives its timeout is told of as long as its process lives, and that it is dead', async () => {
  const database = new SharedDatabase()
  const { address: store, folder } = database
  const node = startScript(NODE, { store, folder, name: 'cellar', types: ['work'], options: { concurrency: 2 } })
  const nodeId = await node.tells<string>('opened')
  await using scheduler = await openScheduler({ store: storeAt(store) })
  const retry = { maxRetries: 1, backoff: { kind: 'none' } } as const
  const job = await scheduler.enqueue('work', 'endless', { timeoutMs: 50, retry })
  const { jobId: retryId } = await vi.waitFor(async () => {
    const [, second] = (await scheduler.getChain(job.jobId)).items
    if (second === undefined) throw new Error('Its time is not over.')
    return second
  }, PATIENCE)
  const told = async () => {
    const reasons = [...(await scheduler.why(job.jobId)).reasons, ...(await scheduler.why(retryId)).reasons]
    const bodies = reasons.filter(({ code }) => code === 'body_still_executing' || code === 'predecessor_executing')
    expect(bodies).toMatchObject([{ nodeId }, { nodeId }])
    return bodies.map(({ message }) => message.includes('on node cellar, which is dead'))
  }
  expect(await told()).toEqual([false, false])
  node.kill('SIGKILL')
  expect(await node.exited).toBe('SIGKILL')
  await database.outlives('cellar')
  expect(await told()).toEqual([true, true])
})
