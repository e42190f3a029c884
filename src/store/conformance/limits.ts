import assert from 'node:assert/strict'
import { RUNNING_LIMIT, resourceLimit, typeLimit } from '../../domain/limits.ts'
import { failed, jobTaking, newJob, newJobs } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'

export function testLimits({ test, testShared }: Kit): void {
  test('without limits everything may run', async (stage) => {
    await stage.enqueue(newJobs(60))
    assert.equal((await stage.claim()).length, 60)
  })

  test('`running` limits all bodies', async (stage) => {
    await stage.store.setLimit(RUNNING_LIMIT, 2)
    const [a, b, c] = await stage.enqueue([newJob(), newJob({ type: 'poem' }), newJob()])
    const [first] = await stage.claim()
    assertSame(await stage.occupants(), [a, b])
    assertSame(await stage.changesNothing(() => stage.claim()), [])
    await stage.finish(first as never)
    assertSame(await stage.claimIds(), [c])
  })

  test('`type:` limits the bodies of a type and no other', async (stage) => {
    await stage.store.setLimit(typeLimit('poem'), 1)
    const poem = () => newJob({ type: 'poem' })
    const [p1, , s1] = await stage.enqueue([poem(), poem(), newJob(), newJob()])
    assertSame(await stage.claimIds({ limit: 2 }), [p1, s1])
    const [s2] = await stage.claimIds()
    assert.equal((await stage.job(s2 as string)).type, 'story')
    assertSame(await stage.changesNothing(() => stage.claim()), [])
  })

  test('a resource whose limit was never stored has one permit', async (stage) => {
    const [a, b] = await stage.enqueue([jobTaking(['ink']), jobTaking(['ink'])])
    const first = await stage.claimOne()
    assert.equal(first.claim.jobId, a)
    assertSame(await stage.changesNothing(() => stage.claim()), [])
    await stage.finish(first)
    assertSame(await stage.claimIds(), [b])
  })

  test('a resource has as many permits as its limit says', async (stage) => {
    await stage.store.setLimit(resourceLimit('ink'), 3)
    await stage.enqueue(Array.from({ length: 5 }, () => jobTaking(['ink'])))
    assert.equal((await stage.claim({ limit: 2 })).length, 2)
    assert.equal((await stage.claim()).length, 1)
    assertSame(await stage.claim(), [])
  })

  test('Jobs of different types share a resource', async (stage) => {
    const [a] = await stage.enqueue([jobTaking(['ink'], { type: 'poem' }), jobTaking(['ink'], { type: 'story' })])
    assertSame(await stage.claimIds(), [a])
  })

  test('permits are taken all or none', async (stage) => {
    const busy = await stage.start(jobTaking(['gpu']))
    const [both, ink] = await stage.enqueue([jobTaking(['gpu', 'ink']), jobTaking(['ink'])])
    // The first lacks the gpu, so it must not keep the ink from the second.
    const second = await stage.claimOne()
    assert.equal(second.claim.jobId, ink)
    await stage.finish(busy)
    assertSame(await stage.changesNothing(() => stage.claim()), [])
    await stage.finish(second)
    assertSame(await stage.claimIds(), [both])
  })

  test('any number of Jobs that wait for a busy resource hide no Job that can start', async (stage) => {
    await stage.start(jobTaking(['ink']))
    await stage.enqueue(Array.from({ length: 500 }, () => jobTaking(['ink'], { priority: 1 })))
    const [a, b] = await stage.enqueue([jobTaking(['gpu']), newJob()])
    assertSame(await stage.claimIds({ limit: 2 }), [a, b])
  })

  test('a permit that comes free goes to the first in the queue', async (stage) => {
    const busy = await stage.start(jobTaking(['ink']))
    const [, high] = await stage.enqueue([jobTaking(['ink']), jobTaking(['ink'], { priority: 1 })])
    await stage.finish(busy, { outcome: failed() })
    assertSame(await stage.claimIds(), [high])
  })

  test('a limit that was lowered below what runs stops new bodies only', async (stage) => {
    const running = [await stage.start(), await stage.start(), await stage.start()]
    await stage.store.setLimit(RUNNING_LIMIT, 2)
    const [next] = await stage.enqueue([newJob()])
    for (const job of running.slice(0, 2)) {
      assertSame(await stage.changesNothing(() => stage.claim()), [])
      await stage.finish(job)
    }
    assertSame(await stage.claimIds(), [next])
  })

  test('a limit that was removed limits no more', async (stage) => {
    await stage.store.setLimit(typeLimit('story'), 1)
    await stage.enqueue(newJobs(3))
    assert.equal((await stage.claim()).length, 1)
    await stage.store.setLimit(typeLimit('story'), null)
    assert.equal((await stage.claim()).length, 2)
  })

  test('every limit of a Job holds together with the others', async (stage) => {
    await stage.store.setLimit(RUNNING_LIMIT, 3)
    await stage.store.setLimit(typeLimit('poem'), 1)
    const [a, , c, , e] = await stage.enqueue([
      newJob({ type: 'poem' }),
      newJob({ type: 'poem' }),
      jobTaking(['ink']),
      jobTaking(['ink']),
      newJob(),
      newJob(),
    ])
    assertSame(await stage.claimIds(), [a, c, e])
  })

  testShared('limits hold across store objects', async (stage, other) => {
    await stage.store.setLimit(typeLimit('story'), 2)
    await stage.enqueue(newJobs(5))
    const first = await claimAmount(stage, 1)
    assert.equal(first + (await claimAmount(other, 10)), 2)
    assert.equal(await claimAmount(stage, 10), 0)
  })
}

async function claimAmount(stage: Stage, limit: number): Promise<number> {
  return (await stage.claim({ limit })).length
}
