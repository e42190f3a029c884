import { existsSync } from 'node:fs'
import { expect, onTestFailed, test, vi } from 'vitest'
import { identifyProcess, isSameProcess } from '../../src/platform/processes.ts'
import { Stage } from './stage.ts'

// The caller in one process, the bodies in another: real databases, real signals. A node looks for dead ones every second, and a
// ticket that nobody renews would block for a minute: what is noticed sooner is noticed because its node is dead.

const SOON = { timeout: 5_000, interval: 10 }

test('what runs, then the direct execution of another process, then the same head of the queue', async () => {
  const stage = new Stage()
  const worker = await stage.open('worker', ['work'])
  await stage.enqueue('work', 'running', 'head', 'next')
  await stage.begins('running')
  const caller = await stage.open('caller', [], { start: false })
  const direct = caller.run('work', 'direct')
  await stage.becomes(['WAITING'])
  stage.letGo('running', 'direct', 'head', 'next')
  expect(await direct.answer()).toMatchObject({ result: 'direct', skipped: null })
  await stage.ends('next')
  expect(stage.begun()).toEqual(['worker running', 'worker direct', 'worker head', 'worker next'])
  expect(await stage.reservations()).toEqual(['RELEASED COMPLETED'])
  // The caller is no node any more: it neither executes nor waits.
  expect(await stage.select('select name from pawl_nodes where ended_at is null')).toEqual([{ name: 'worker' }])
  await worker.kill()
  await stage.isSound()
})

test('calls of several processes are served in the order of their arrival', async () => {
  const stage = new Stage()
  await stage.open('worker', ['work'])
  await stage.enqueue('work', 'running')
  await stage.begins('running')
  const [a, b] = [await stage.open('a', [], { start: false }), await stage.open('b', [], { start: false })]
  const calls = []
  for (const [index, params] of ['first', 'second', 'third', 'fourth'].entries()) {
    calls.push((index % 2 === 0 ? a : b).run('work', params))
    await stage.becomes(Array.from({ length: index + 1 }, () => 'WAITING'))
  }
  stage.letGo('running', 'first', 'second', 'third', 'fourth')
  await Promise.all(calls.map((call) => call.answer()))
  expect(stage.begun().map((line) => line.split(' ')[1])).toEqual(['running', 'first', 'second', 'third', 'fourth'])
})

test('a ticket holds back its resource in every process', async () => {
  const stage = new Stage()
  await stage.open('left', ['gpu'])
  await stage.enqueue('gpu', 'running', 'head')
  await stage.begins('running')
  // It handles the same resource, has a free place, and comes to nothing before the ticket.
  await stage.open('right', ['gpu'], { concurrency: 2 })
  const caller = await stage.open('caller', [], { start: false })
  const direct = caller.run('gpu', 'direct')
  await stage.becomes(['WAITING'])
  stage.letGo('running')
  await stage.begins('direct')
  stage.letGo('direct', 'head')
  expect(await direct.answer()).toMatchObject({ result: 'direct' })
  await stage.ends('head')
  expect(stage.begun().map((line) => line.split(' ')[1])).toEqual(['running', 'direct', 'head'])
})

test('the handler’s failure reaches the caller in the other process', async () => {
  const stage = new Stage()
  await stage.open('worker', ['failing'])
  const caller = await stage.open('caller', [], { start: false })
  const answer = await caller.run('failing', 'the ink ran out').answer()
  expect(answer).toMatchObject({ code: 'direct_failed', reason: 'error' })
  expect(answer.message).toContain('RangeError: "the ink ran out"')
})

test('a caller that is killed while it waits blocks nobody: its ticket expires without a restart', async () => {
  const stage = new Stage()
  await stage.open('worker', ['gpu', 'work'], { concurrency: 2 })
  await stage.enqueue('gpu', 'running')
  await stage.begins('running')
  const caller = await stage.open('caller', [], { start: false })
  caller.run('gpu', 'abandoned')
  await stage.becomes(['WAITING'])
  await stage.enqueue('gpu', 'behind it')
  await caller.kill()
  await stage.becomes(['EXPIRED expired'], SOON)
  stage.letGo('running', 'behind it')
  await stage.ends('behind it')
  expect(stage.begun()).toEqual(['worker running', 'worker behind it'])
  await stage.isSound()
})

test('a caller that is killed while its body executes leaves the body to its end', async () => {
  const stage = new Stage()
  await stage.open('worker', ['work'])
  const caller = await stage.open('caller', [], { start: false })
  caller.run('work', 'orphan')
  await stage.begins('orphan')
  await caller.kill()
  const dead = "select name from pawl_nodes where ended_at is null and name = 'caller'"
  await vi.waitFor(async () => expect(await stage.select(dead)).toEqual([]), SOON)
  expect(await stage.reservations()).toEqual(['RUNNING'])
  stage.letGo('orphan')
  await stage.becomes(['RELEASED COMPLETED'])
  await stage.isSound()
})

test('an executing process that is killed is told to the caller as a crash, and nothing runs again', async () => {
  const stage = new Stage()
  const worker = await stage.open('worker', ['work'])
  const caller = await stage.open('caller', [], { start: false })
  const call = caller.run('work', 'lost')
  await stage.begins('lost')
  await worker.kill()
  expect(await call.answer()).toMatchObject({ code: 'direct_failed', reason: 'crash' })
  expect(await stage.reservations()).toEqual(['RELEASED FAILED crash'])
  // Nobody who is alive handles it any more.
  expect(await caller.run('work', 'again').answer()).toMatchObject({ code: 'no_node' })
  const next = await stage.open('next', ['work'])
  stage.letGo('again')
  expect(await caller.run('work', 'again').answer()).toMatchObject({ result: 'again' })
  expect(stage.begun()).toEqual(['worker lost', 'next again'])
  await next.kill()
  await stage.isSound()
})

test('a worker that is dead, but whose row is still there, is no node that handles a type', async () => {
  const stage = new Stage()
  const worker = await stage.open('worker', ['work'])
  await worker.kill()
  expect(await stage.select('select claims from pawl_nodes where ended_at is null')).toEqual([{ claims: 1 }])
  const caller = await stage.open('caller', [], { start: false })
  expect(await caller.run('work', 'a').answer()).toMatchObject({ code: 'no_node' })
})

test('a process that closes gives its tickets back', async () => {
  const stage = new Stage()
  await stage.open('worker', ['work'])
  await stage.enqueue('work', 'running')
  await stage.begins('running')
  const caller = await stage.open('caller', [], { start: false })
  const call = caller.run('work', 'too late')
  await stage.becomes(['WAITING'])
  caller.order({ close: true })
  expect(await call.answer()).toMatchObject({ code: 'closed' })
  await caller.script.tells('closed')
  // Nothing but our orders kept it alive.
  caller.script.child.stdin?.end()
  expect(await caller.script.exited).toBe(0)
  expect(await stage.reservations()).toEqual(['RELEASED caller-gone'])
})

test('a worker that stops is not counted on', async () => {
  const stage = new Stage()
  const worker = await stage.open('worker', ['work'])
  worker.order({ stop: 1000 })
  await worker.script.tells('stopped')
  const caller = await stage.open('caller', [], { start: false })
  expect(await caller.run('work', 'a').answer()).toMatchObject({ code: 'no_node' })
})

test('a body in a child process is executed like any, and its context is that of a direct execution', async () => {
  const stage = new Stage()
  await stage.open('worker', ['child'])
  const caller = await stage.open('caller', [], { start: false })
  const call = caller.run('child', { folder: stage.folder })
  const pid = await stage.childWorks()
  stage.letGo('child')
  const [row] = await stage.select('select reservation_id from pawl_reservations')
  expect(await call.answer()).toMatchObject({ result: { jobId: row?.['reservation_id'], pid } })
  // There is no Run that would lead to a log file, so none is left behind.
  expect(existsSync(`${stage.database.address}-logs`)).toBe(false)
})

test('a child that dies is an error of the call', async () => {
  const stage = new Stage()
  await stage.open('worker', ['child'])
  const caller = await stage.open('caller', [], { start: false })
  const answer = await caller.run('child', { folder: stage.folder, dies: true }).answer()
  expect(answer).toMatchObject({ code: 'direct_failed', reason: 'error' })
  expect(answer.message).toContain('SIGKILL')
})

test('the child of a killed node is dead before the caller is told, also one that cannot notice it', async () => {
  const stage = new Stage()
  const worker = await stage.open('worker', ['child'])
  const caller = await stage.open('caller', [], { start: false })
  const call = caller.run('child', { folder: stage.folder })
  const child = identifyProcess(await stage.childWorks())
  expect.assert(child !== null)
  // A stopped child that nobody kills would stay for ever.
  onTestFailed(() => void (isSameProcess(child) && process.kill(child.pid, 'SIGKILL')))
  process.kill(child.pid, 'SIGSTOP')
  await worker.kill()
  expect(await call.answer()).toMatchObject({ code: 'direct_failed', reason: 'crash' })
  expect(isSameProcess(child)).toBe(false)
  await stage.isSound()
})
