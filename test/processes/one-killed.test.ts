import { expect, test } from 'vitest'
import { storeKind } from '../stores/package-stores.ts'
import { mostAtOnce, Stage } from './stage.ts'

// A node looks for dead ones every second. A file that a dead process had locked is free at once; on a server a node is taken
// for dead when it has been silent for 15 s. That is waited for here, in both tests at the same time.

const SOON = storeKind === 'sqlite' ? { timeout: 2_500, interval: 10 } : { timeout: 20_000, interval: 50 }
const timeout = 60_000
const together = storeKind === 'sqlite' ? test : test.concurrent

together(
  'the Jobs of a killed process are recovered by the other soon, and its own are untouched',
  { timeout },
  async () => {
    const stage = new Stage()
    const victim = await stage.startNode('victim', ['deaf'], { concurrency: 2 })
    await stage.enqueueMany(['a', 'b'].map((params) => ({ type: 'deaf', params })))
    await stage.begins('a')
    await stage.begins('b')
    const survivor = await stage.startNode('survivor', ['deaf'], { concurrency: 2, handleSignals: true })
    expect(survivor.told).toMatchObject([{ started: { runningJobsRecovered: 0, retriesCreated: 0, errors: [] } }])
    await stage.enqueueMany(['c', 'd'].map((params) => ({ type: 'deaf', params })))
    await stage.begins('c')
    await stage.begins('d')
    const own = await stage.select("select * from pawl_runs join pawl_jobs using (seq) where name in ('c', 'd')")

    victim.kill('SIGKILL')
    expect(await victim.exited).toBe('SIGKILL')
    const recovered = [
      'a 1 FINISHED, run FAILED crash',
      'b 1 FINISHED, run FAILED crash',
      'c 1 RUNNING, run open, occupied',
      'd 1 RUNNING, run open, occupied',
      'a 2 QUEUED, no run',
      'b 2 QUEUED, no run',
    ]
    await stage.becomes(recovered, SOON)
    expect(await survivor.tells('stats')).toEqual({
      runningJobsRecovered: 2,
      reservationsExpired: 0,
      retriesCreated: 2,
      jobGroupsRecovered: 0,
      errors: [],
    })
    expect(await stage.select("select * from pawl_runs join pawl_jobs using (seq) where name in ('c', 'd')")).toEqual(
      own,
    )

    for (const params of ['a', 'b', 'c', 'd']) stage.letGo(params)
    await stage.becomes([
      ...recovered.slice(0, 2),
      'c 1 FINISHED, run COMPLETED',
      'd 1 FINISHED, run COMPLETED',
      'a 2 FINISHED, run COMPLETED',
      'b 2 FINISHED, run COMPLETED',
    ])
    survivor.kill('SIGTERM')
    expect(await survivor.exited).toBe(0)
    expect(stage.begun()).toEqual([
      'victim a 1',
      'victim b 1',
      'survivor c 1',
      'survivor d 1',
      'survivor a 2',
      'survivor b 2',
    ])
    await stage.isSound()
  },
)

together(
  'two of three processes killed in the middle of much work: the third brings every Job to its end',
  { timeout },
  async () => {
    const stage = new Stage()
    const types = ['quick', 'gpu', 'pair'] as const
    await stage.makeKnown(types)
    const ids = await stage.enqueueMany(
      Array.from({ length: 1_500 }, (_, index) => ({ type: types[index % 3] ?? 'quick', params: index })),
    )
    const names = ['first', 'second', 'third']
    const [first, second, third] = await Promise.all(
      names.map((name) => stage.startNode(name, types, { concurrency: 4, handleSignals: true })),
    )
    expect.assert(first !== undefined && second !== undefined && third !== undefined)
    await stage.isUnderWay(100)
    first.kill('SIGKILL')
    second.kill('SIGKILL')
    await stage.drains()
    third.kill('SIGTERM')
    expect(await Promise.all([first.exited, second.exited, third.exited])).toEqual(['SIGKILL', 'SIGKILL', 0])

    // Every Job that was accepted came to its end, and only what a killed process had claimed was tried again, once each.
    const done = await stage.select("select chain_id as id from pawl_jobs_readable where outcome = 'COMPLETED'")
    expect(new Set(done.map(({ id }) => id))).toEqual(new Set(ids))
    expect(done).toHaveLength(ids.length)
    const failed = await stage.select(`select n.name as node, r.reason, j.attempt from pawl_runs r
    join pawl_jobs j using (seq) join pawl_nodes n using (node_seq) where r.status = 'FAILED'`)
    for (const run of failed) {
      expect(run).toMatchObject({ node: expect.stringMatching(/^(first|second)$/), reason: 'crash', attempt: 1 })
    }
    expect(stage.notes().filter(({ what, attempt }) => what === 'begin' && attempt === 2)).toHaveLength(failed.length)
    const notes = stage.notes().filter(({ node }) => node === 'third')
    expect(mostAtOnce(notes)).toBeLessThanOrEqual(4)
    expect(mostAtOnce(notes.filter(({ type }) => type === 'gpu'))).toBe(1)
    await stage.isSound()
  },
)
