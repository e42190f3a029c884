// What a reviewer found, each as it should be.
import { defineJob, PawlError } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { openTestScheduler } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { newDatabasePath, recordStatements } from '../sqlite/stage.ts'

const quick = defineJob({ type: 'quick', run: () => null })

describe('a sequential group that was stopped', () => {
  for (const count of [3, 1_000]) {
    test(`goes on to its end when the failed one of ${count} is retried with its dependents, whenever that is`, async () => {
      let isMended = false
      const step = defineJob({
        type: 'step',
        retry: { maxRetries: 0 },
        run: ({ params }) => {
          if (params === 0 && !isMended) throw new Error('broken')
        },
      })
      await using stage = await openTestScheduler({ jobs: [step], concurrency: 4 })
      const { scheduler } = stage
      const group = await scheduler.groups.create({
        mode: 'sequential',
        jobs: Array.from({ length: count }, (_, n) => ({ type: step, params: n })),
      })
      // At once: of many, some are stopped by then and some are not.
      expect((await group.jobs[0]?.settled())?.outcome).toBe('FAILED')
      isMended = true
      await scheduler.retry(group.jobs[0]?.jobId ?? '', { dependents: true })
      await stage.runUntilIdle()
      const outcomes = await Promise.all(group.jobs.map(async (job) => (await job.settled()).outcome))
      expect(new Set(outcomes)).toEqual(new Set(['COMPLETED']))
    })
  }

  test('stays stopped when the failed one is retried alone; nobody waits for ever', async () => {
    let isMended = false
    const step = defineJob({
      type: 'step',
      retry: { maxRetries: 0 },
      run: ({ params }) => {
        if (params === 0 && !isMended) throw new Error('broken')
      },
    })
    await using stage = await openTestScheduler({ jobs: [step] })
    const { scheduler } = stage
    const group = await scheduler.groups.create({
      mode: 'sequential',
      jobs: Array.from({ length: 1_000 }, (_, n) => ({ type: step, params: n })),
    })
    await group.jobs[0]?.settled()
    isMended = true
    await scheduler.retry(group.jobs[0]?.jobId ?? '')
    await stage.runUntilIdle()
    const { status, counts } = await group.settled()
    expect([status, counts.queued, counts.running]).toEqual(['PARTIAL', 0, 0])
  })
})

test('waiting for many groups costs no more statements per member than waiting for one', async () => {
  const statementsFor = async (waitedFor: number): Promise<number> => {
    const recording = recordStatements()
    let statements = 0
    recording.beforePrepare = () => {}
    await using stage = await openTestScheduler({
      store: sqlite(newDatabasePath(), {
        driver: counting(recording.driver, () => statements++),
        durability: 'process',
      }),
      jobs: [quick],
    })
    const { scheduler } = stage
    await scheduler.stop()
    const groups = await Promise.all(
      Array.from({ length: 100 }, () =>
        scheduler.groups.create({ jobs: [1, 2].map(() => ({ type: quick, params: null })) }),
      ),
    )
    const settled = groups.slice(0, waitedFor).map((group) => group.settled())
    await stage.runUntilIdle()
    statements = 0
    await scheduler.start()
    await stage.runUntilIdle()
    await Promise.all(settled)
    return statements
  }
  const one = await statementsFor(1)
  const all = await statementsFor(100)
  // Each group that is waited for is read once, when it has settled.
  expect(all - one).toBeLessThan(100 * 5)
})

/** The same library, which tells of each execution of a statement. */
function counting<Driver>(driver: Driver, executed: () => void): Driver {
  const Original = driver as unknown as new (...values: unknown[]) => { prepare(sql: string): object }
  class Counting extends Original {
    override prepare(sql: string): object {
      const statement = super.prepare(sql) as Record<string, (...values: unknown[]) => unknown>
      for (const name of ['run', 'get', 'all']) {
        const original = statement[name]?.bind(statement)
        statement[name] = (...values) => {
          executed()
          return original?.(...values)
        }
      }
      return statement
    }
  }
  return Counting as unknown as Driver
}

describe('bad input', () => {
  test('of every new door is answered with a code, whatever it is', async () => {
    await using stage = await openTestScheduler({ jobs: [quick] })
    const { scheduler } = stage
    const bare = Object.create(null) as object
    const odd: unknown[] = [
      undefined,
      null,
      7,
      {},
      [],
      bare,
      Symbol('s'),
      1n,
      Object.assign(Object.create(null), { n: 1n }),
    ]
    const group = await scheduler.groups.create({ jobs: [{ type: quick, params: null, delayMs: 60_000 }] })
    const doors: ((value: never) => unknown)[] = [
      (value) => scheduler.groups.settled(value),
      (value) => scheduler.groups.get(value),
      (value) => scheduler.listJobs({ cursor: value ?? 5 }),
      (value) => scheduler.groups.list({ cursor: value ?? 5 }),
      (value) => scheduler.enqueueGraph({ a: { type: quick, params: null, dependsOn: [value] } }),
      (value) => group.cancel({ reason: value ?? 5 }),
    ]
    for (const door of doors) {
      for (const value of odd) {
        const error = await (async () => door(value as never))().then(
          () => null,
          (thrown: unknown) => thrown,
        )
        expect(error).toBeInstanceOf(PawlError)
      }
    }
    expect(await group.get()).toMatchObject({ status: 'QUEUED', counts: { queued: 1 } })
  })

  test('a webhook url that could never be called is refused for follow-ups too', async () => {
    const asking = defineJob({
      type: 'asking',
      retry: { maxRetries: 0 },
      run: ({ enqueue }) => enqueue(quick, null, { webhookUrl: 'http://169.254.169.254/latest' }),
    })
    await using stage = await openTestScheduler({ jobs: [quick, asking] })
    const { scheduler } = stage
    const settled = await (await scheduler.enqueue(asking, null)).settled()
    expect(settled).toMatchObject({ outcome: 'FAILED', error: expect.stringContaining('169.254.169.254') })
    for (const webhookUrl of [
      ' https://example.com',
      'https://example.com/a\nb',
      'ftp://example.com',
      'https://a:b@c.de',
    ]) {
      await expect(scheduler.enqueue(quick, null, { webhookUrl })).rejects.toMatchObject({
        code: 'webhook_url_refused',
        path: 'webhookUrl',
      })
    }
  })
})
