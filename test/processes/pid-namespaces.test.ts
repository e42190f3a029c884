import { expect, type TestContext, test } from 'vitest'
import { insideOf, UNSHARE, whyNoNamespaces } from './namespaces.ts'
import { Stage } from './stage.ts'

// Two containers on one file: both processes have the pid 1 and the same host name, and neither sees the other.

const reason = whyNoNamespaces()
const needsNamespaces = (context: TestContext) => {
  if (reason !== null) context.skip(reason)
}

const SOON = { timeout: 2_500, interval: 10 }

test.concurrent('nodes in separate pid namespaces share the work, and each Job is executed once', async (context) => {
  needsNamespaces(context)
  const stage = new Stage()
  await stage.makeKnown(['quick', 'gpu'])
  const items = Array.from(
    { length: 500 },
    (_, index) => ({ type: index % 5 === 0 ? 'gpu' : 'quick', params: index }) as const,
  )
  await stage.enqueueMany(items)
  const nodes = await Promise.all(['left', 'right'].map((name) => start(stage, name, { concurrency: 2 })))
  await stage.drains()
  expect(await stage.select('select name, pid from pawl_nodes order by name')).toEqual([
    { name: 'left', pid: 1 },
    { name: 'right', pid: 1 },
  ])
  const begun = stage.notes().filter(({ what }) => what === 'begin')
  expect(begun.map(({ params }) => Number(params)).sort((a, b) => a - b)).toEqual(items.map(({ params }) => params))
  for (const node of nodes) expect(node.told).toHaveLength(1)
  await stage.isSound()
})

test.concurrent('one that is killed is recovered by the other, whose own Jobs are untouched', async (context) => {
  needsNamespaces(context)
  const stage = new Stage()
  const victim = await start(stage, 'victim')
  await stage.enqueue('deaf', 'a')
  await stage.begins('a')
  await start(stage, 'survivor')
  await stage.enqueue('deaf', 'b')
  await stage.begins('b')
  victim.kill('SIGKILL')
  await stage.becomes(['a 1 FINISHED, run FAILED crash', 'b 1 RUNNING, run open, occupied', 'a 2 QUEUED, no run'], SOON)
  stage.letGo('a')
  stage.letGo('b')
  await stage.drains()
  expect(stage.begun()).toEqual(['victim a 1', 'survivor b 1', 'survivor a 2'])
  await stage.isSound()
})

test.concurrent('one that is stopped is not declared dead', async (context) => {
  needsNamespaces(context)
  const stage = new Stage()
  const stopped = await start(stage, 'stopped')
  await stage.enqueue('deaf', 'a')
  await stage.begins('a')
  const observer = await start(stage, 'observer')
  const pid = insideOf(stopped.child.pid as number)
  process.kill(pid, 'SIGSTOP')
  stage.letGo('a')
  await stage.enqueue('quick', 'later', { delayMs: 5_000 })
  await stage.becomes(['a 1 RUNNING, run open, occupied', 'later 1 FINISHED, run COMPLETED'])
  process.kill(pid, 'SIGCONT')
  await stage.becomes(['a 1 FINISHED, run COMPLETED', 'later 1 FINISHED, run COMPLETED'])
  expect(observer.told).toHaveLength(1)
  await stage.isSound()
})

test.concurrent('a child process of a killed one is dead before its retry starts', async (context) => {
  needsNamespaces(context)
  const stage = new Stage()
  const victim = await start(stage, 'victim')
  await stage.enqueue('child', stage.folder)
  await stage.childBeats()
  await start(stage, 'survivor')
  victim.kill('SIGKILL')
  await stage.drains()
  const { beganAt } = await stage.resultOf(2)
  expect(stage.lastBeat()).toBeLessThan(beganAt)
  await stage.isSound()
})

function start(stage: Stage, name: string, options = {}) {
  return stage.startNode(name, ['quick', 'gpu', 'deaf', 'child'], options, UNSHARE)
}
