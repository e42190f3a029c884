import { describe, expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { Stage } from './stage.ts'

const a = defineJob({ type: 'a', run: () => null })
const b = defineJob({ type: 'b', resources: ['model'], run: () => null })

/** Nobody claims, so that the queue stands still. */
async function openStopped(): Promise<Stage> {
  const stage = await Stage.open([a, b], { resources: { model: 1 } })
  await stage.scheduler.stop()
  return stage
}

describe('the rank of a Job', () => {
  test('is its place in the order of the queue, whatever the types', async () => {
    await using stage = await openStopped()
    const jobs = await stage.scheduler.enqueueMany([
      { type: a, params: null },
      { type: b, params: null },
      { type: a, params: null, priority: 5 },
      { type: b, params: null, priority: 5 },
      { type: a, params: null, priority: -1 },
      { type: b, params: null },
    ])
    await stage.scheduler.move(jobs[5].jobId, { before: jobs[0].jobId })
    const queue = await stage.scheduler.listQueue()
    expect(queue.map(({ jobId }) => jobs.findIndex((job) => job.jobId === jobId))).toEqual([2, 3, 5, 0, 1, 4])
    for (const [index, job] of queue.entries()) {
      expect(await stage.why(job)).toMatchObject({ queueRank: index + 1, queueRankText: String(index + 1) })
    }
    const last = queue[5]
    expect.assert(last !== undefined)
    expect(await stage.reason(last, 'jobs_ahead')).toMatchObject({
      count: 5,
      jobs: queue.slice(0, 5).map(({ jobId, type, priority }) => ({ jobId, type, priority })),
    })
  })

  test('counts only Jobs that could start, and is null while something holds the Job itself', async () => {
    await using stage = await openStopped()
    const [delayed, ready, waiting, last] = await stage.scheduler.enqueueMany([
      { type: a, params: null, delayMs: 60_000 },
      { type: a, params: null, ref: 'ready' },
      { type: a, params: null, dependsOn: ['#ready'] },
      { type: a, params: null },
    ])
    expect(await stage.why(ready)).toMatchObject({ queueRank: 1 })
    expect(await stage.why(last)).toMatchObject({ queueRank: 2 })
    expect(await stage.why(delayed)).toMatchObject({ queueRank: null, queueRankText: null })
    expect(await stage.why(waiting)).toMatchObject({ queueRank: null, queueRankText: null })

    // Its time has come, though no claim has looked since.
    stage.clock.set(stage.clock.now() + 60_000)
    expect(await stage.why(delayed)).toMatchObject({ queueRank: 1 })
    expect(await stage.why(last)).toMatchObject({ queueRank: 3, reasons: [{}, { code: 'jobs_ahead', count: 2 }] })
  })

  test('is exact up to 1,000, then 1000+', async () => {
    await using stage = await openStopped()
    const jobs = await stage.scheduler.enqueueMany(
      Array.from({ length: 1_001 }, (_, index) => ({ type: index % 2 === 0 ? a : b, params: null })),
    )
    const at = (index: number): string => jobs[index]?.jobId ?? ''
    expect(await stage.why(at(998))).toMatchObject({ queueRank: 999, queueRankText: '999' })
    expect(await stage.why(at(999))).toMatchObject({ queueRank: 1_000, queueRankText: '1000' })
    const last = await stage.why(at(1_000))
    expect(last).toMatchObject({ queueRank: null, queueRankText: '1000+' })
    expect(last.reasons[1]).toMatchObject({
      code: 'jobs_ahead',
      message: `1000+ ready jobs come before it in the queue; the next is job ${at(0)} (a) with priority 0.`,
      count: 1_000,
      jobs: Array.from({ length: 10 }, (_, index) => expect.objectContaining({ jobId: at(index) })),
    })
  })
})
