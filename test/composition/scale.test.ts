import { afterEach, describe, expect, test } from 'vitest'
import { childOf, childrenOf, newGroup } from '../../src/store/conformance/composition-steps.ts'
import { NOW, newJob, newJobs } from '../../src/store/conformance/fixtures.ts'
import type { NewJob } from '../../src/store/jobs.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { newDatabase } from '../recovery/database.ts'
import { CountingDriver } from './counting-driver.ts'
import { isSoundlyComposed } from './soundness.ts'
import { Stage } from './stage.ts'

// A hundred thousand dependents or members. What counts is not how long it takes, but that no transaction does more than a
// bounded amount of work, so that claims and finishes in between wait for milliseconds.

const MANY = 100_000

/** Where the same must hold in another way, fewer say it too. */
const SOME = 10_000

/** As the engine asks for it. */
const PAGE = 200

/** Statements, rows read and rows written for one dependent or member, and for the transaction itself. */
const EACH = 15
const ITSELF = 100

const closing: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

describe('many', { timeout: 300_000 }, () => {
  test('a hundred thousand children of one parent are released in pages', async () => {
    const { stage, counting, file } = await open()
    const top = newJob({ priority: 1 })
    const parent = await stage.start(top)
    await inLists(stage, childrenOf(top.jobId, MANY))
    counting.reset()
    await stage.finish(parent, 'COMPLETED')
    staysSmall(counting)
    const pages = await applyAll(stage, counting)
    expect(pages).toBeLessThanOrEqual(MANY / PAGE + 1)
    expect((await stage.claim(MANY)).length).toBe(MANY)
    isSoundlyComposed(file)
  })

  test('children of one parent are cancelled in pages, come back in pages, and history lets go of them', async () => {
    const { stage, counting, file } = await open()
    const top = newJob({ priority: 1 })
    const parent = await stage.start(top)
    await inLists(stage, childrenOf(top.jobId, SOME))
    counting.reset()
    await stage.finish(parent, 'FAILED')
    await applyAll(stage, counting)
    await stage.retry(top.jobId, true)
    staysSmall(counting)
    await applyAll(stage, counting)
    const [again] = await stage.claim(1)
    expect.assert(again !== undefined)
    counting.reset()
    await stage.finish(again, 'FAILED')
    await applyAll(stage, counting)
    counting.reset()
    await stage.store.pruneChains({ endedBefore: NOW + 1, limit: 1, cursor: null })
    staysSmall(counting)
    isSoundlyComposed(file)
  })

  test('children that have completed do not make it dear to forget their parent', async () => {
    const { stage, counting, file } = await open()
    const top = newJob({ priority: 1 })
    const parent = await stage.start(top)
    await stage.enqueue(childrenOf(top.jobId, SOME))
    await stage.finish(parent, 'COMPLETED')
    await applyAll(stage, counting)
    const claimed = await stage.claim(SOME)
    await stage.finishAll(claimed)
    counting.reset()
    await stage.store.pruneChains({ endedBefore: NOW + 1, limit: 1, cursor: null })
    staysSmall(counting)
    isSoundlyComposed(file)
  })

  test('children that have children of their own fall in pages', async () => {
    const { stage, counting, file } = await open()
    const top = newJob({ priority: 1 })
    const parent = await stage.start(top)
    const children = childrenOf(top.jobId, SOME)
    await stage.enqueue(children)
    await stage.enqueue(children.map((child) => childOf([child])))
    counting.reset()
    await stage.finish(parent, 'FAILED')
    const pages = await applyAll(stage, counting)
    // One for each page of children, and not many more for what follows from it.
    expect(pages).toBeLessThanOrEqual((10 * children.length) / PAGE)
    isSoundlyComposed(file)
  })

  for (const [mode, onFailure, total] of [
    ['parallel', 'stop', MANY],
    ['parallel', 'skip', SOME],
    ['sequential', 'stop', SOME],
    ['sequential', 'skip', SOME],
  ] as const) {
    test(`${total} members of a ${mode} group are dealt with in pages, with \`${onFailure}\``, async () => {
      const { stage, counting, file } = await open()
      const group = newGroup({ mode, onFailure })
      await stage.createGroup(group, newJobs(total))
      const [first, second] = await stage.claim(2)
      expect.assert(first !== undefined)
      if (second !== undefined) await stage.finish(second, 'COMPLETED')
      counting.reset()
      await stage.finish(first, 'FAILED')
      staysSmall(counting)
      const pages = await applyAll(stage, counting)
      expect(pages).toBeLessThanOrEqual(total / PAGE + 1)
      const ended = await stage.store.findGroup(group.groupId)
      const left = total - (second === undefined ? 1 : 2)
      const word = onFailure === 'stop' ? 'cancelled' : 'skipped'
      expect(ended).toMatchObject({ status: 'PARTIAL', counts: { total, failed: 1, [word]: left } })
      isSoundlyComposed(file)
    })
  }

  test('members of a group are cancelled in pages', async () => {
    const { stage, counting, file } = await open()
    const group = newGroup({ mode: 'sequential', onFailure: 'continue' })
    await stage.createGroup(group, newJobs(SOME))
    counting.reset()
    await stage.store.cancelGroup({ groupId: group.groupId, mode: 'graceful', reason: null, now: NOW })
    staysSmall(counting)
    const pages = await applyAll(stage, counting)
    expect(pages).toBeLessThanOrEqual(SOME / PAGE + 1)
    expect(await stage.store.findGroup(group.groupId)).toMatchObject({ status: 'CANCELLED', finishedAt: NOW })
    isSoundlyComposed(file)
  })

  test('one of a hundred thousand members costs no more than one of few: to start, to end, to be counted', async () => {
    const { stage, counting } = await open()
    const group = newGroup({ mode: 'sequential', onFailure: 'continue' })
    await stage.createGroup(group, newJobs(MANY))
    counting.reset()
    for (let turn = 0; turn < 20; turn++) {
      const [member] = await stage.claim(1)
      expect.assert(member !== undefined)
      await stage.finish(member, turn % 2 === 0 ? 'FAILED' : 'COMPLETED')
      expect(await stage.store.findGroup(group.groupId)).toMatchObject({ status: 'RUNNING' })
    }
    expect(counting.dearest.statements).toBeLessThanOrEqual(ITSELF)
    expect(counting.dearest.rowsRead).toBeLessThanOrEqual(ITSELF)
    counting.reset()
    const read = await stage.store.findGroup(group.groupId)
    expect(read?.counts).toEqual({
      total: MANY,
      queued: MANY - 20,
      running: 0,
      completed: 10,
      failed: 10,
      skipped: 0,
      cancelled: 0,
    })
    expect(counting.dearest).toEqual({ statements: 1, rowsRead: 1, rowsWritten: 0 })
  })
})

async function open(): Promise<{ stage: Stage; counting: CountingDriver; file: string }> {
  const file = newDatabase()
  const counting = new CountingDriver()
  const store = await sqlite(file, { durability: 'process', driver: counting.driver }).open()
  closing.push(() => store.close())
  return { stage: await Stage.on(store), counting, file }
}

const LIST = 10_000

async function inLists(stage: Stage, jobs: readonly NewJob[]): Promise<void> {
  for (let from = 0; from < jobs.length; from += LIST) await stage.enqueue(jobs.slice(from, from + LIST))
}

/** Carries out whatever is stored as the engine does, and returns in how many pages. None of them may be large. */
async function applyAll(stage: Stage, counting: CountingDriver): Promise<number> {
  counting.reset()
  let pages = 0
  for (; await stage.store.hasCascades(); pages++) expect(await stage.applyPage(PAGE)).toBe('applied')
  staysSmall(counting)
  return pages
}

function staysSmall({ dearest }: CountingDriver): void {
  const max = PAGE * EACH + ITSELF
  expect(dearest.statements).toBeLessThanOrEqual(max)
  expect(dearest.rowsRead).toBeLessThanOrEqual(max)
  expect(dearest.rowsWritten).toBeLessThanOrEqual(max)
}
