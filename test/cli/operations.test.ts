// Many jobs at once: counted, confirmed, followed and aborted, on a store and on a server.
import { Readable } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { type Clock, systemClock } from '../../src/platform/clock.ts'
import { type CliTarget, interruption, openTarget, pawl, TARGETS } from './cli-stage.ts'

const NOBODY = '01975bb0-7c1e-7d6a-9d0c-3f6f8e0f9a41'

async function withStories(kind: CliTarget['kind'], count: number): Promise<CliTarget> {
  const on = await openTarget(kind)
  await on.scheduler.enqueueMany(Array.from({ length: count }, () => ({ type: 'story', params: {} })))
  return on
}

const queued = async (on: CliTarget) => (await on.scheduler.listJobs({ status: 'QUEUED', limit: 200 })).items.length

/** Somebody at a terminal who answers this. */
function terminal(answer: string): Readable & { isTTY: boolean } {
  return Object.assign(Readable.from([`${answer}\n`]), { isTTY: true })
}

describe.each(TARGETS)('on a %s', (kind) => {
  test('all that match are counted without changing anything', async () => {
    const on = await withStories(kind, 3)
    const dry = await on.pawl('jobs', 'cancel', '--all', '--type', 'story', '--dry-run')
    expect(dry).toMatchObject({ exitCode: 0, stdout: 'It would cancel 3 jobs.\n' })
    const json = await on.json('jobs', 'cancel', '--all', '--type', 'story', '--dry-run')
    expect(json).toEqual({ matched: 3, matched_or_more: false })
    expect(await queued(on)).toBe(3)
    expect((await on.pawl('operations', 'list')).stdout).toContain('There are no operations yet.')
  })

  test('all that match are cancelled, then retried, and the end is told', async () => {
    const on = await withStories(kind, 120)
    await on.scheduler.enqueue('wait', {})
    const cancelled = await on.pawl('jobs', 'cancel', '--all', '--type', 'story', '--reason', 'enough', '--yes')
    expect(cancelled).toMatchObject({ exitCode: 0 })
    expect(cancelled.stdout).toMatch(
      /^Operation [0-9a-f-]{36} \(cancel\) is COMPLETED: 120 of 120 jobs, 120 changed, 0 skipped, 0 failed\.\n$/,
    )
    expect(await queued(on)).toBe(1)

    const retried = await on.json('jobs', 'retry', '--all', '--status', 'cancelled', '--yes')
    expect(retried).toMatchObject({ kind: 'retry', status: 'COMPLETED', changed: 120, created_by: expect.any(String) })
    expect(await queued(on)).toBe(121)
    const { items } = await on.json<{ items: { operation_id: string }[] }>('operations', 'list')
    expect(items).toMatchObject([{ kind: 'retry' }, { kind: 'cancel', reason: 'enough' }])
    const shown = await on.pawl('operations', 'show', items[1]?.operation_id ?? '')
    expect(shown.stdout).toContain('"type": "story"')
    expect(shown.stdout).toMatch(/changed +120/)
    const aborted = await on.pawl('operations', 'abort', items[0]?.operation_id ?? '')
    expect(aborted.exitCode).toBe(5)
  })

  test('several ids are one operation, and one that is not there is told', async () => {
    const on = await withStories(kind, 2)
    const ids = (await on.scheduler.listJobs()).items.map(({ jobId }) => jobId)
    const { stdout, exitCode } = await on.pawl('jobs', 'cancel', ...ids, NOBODY, '--yes')
    expect(exitCode).toBe(0)
    expect(stdout).toContain('3 of 3 jobs, 2 changed, 1 skipped (1 job_not_found), 0 failed.')
  })

  test('who is asked and says no changes nothing; who says yes does', async () => {
    const on = await withStories(kind, 2)
    const argv = ['jobs', 'cancel', '--all', '--type', 'story']
    const refused = await on.pawlWith({ stdinStream: terminal('n') }, ...argv)
    expect(refused).toMatchObject({ exitCode: 1, stdout: 'Nothing was changed.\n' })
    expect(refused.stderr).toContain('Cancel 2 jobs? [y/N]')
    expect(await queued(on)).toBe(2)
    const agreed = await on.pawlWith({ stdinStream: terminal('y') }, ...argv)
    expect(agreed).toMatchObject({ exitCode: 0 })
    expect(await queued(on)).toBe(0)
    const nothing = await on.pawlWith({ stdinStream: terminal('y') }, ...argv)
    expect(nothing).toMatchObject({ exitCode: 0, stdout: 'No job to cancel matches.\n' })
  })

  test('who leaves while it goes on is told how to see it and how to stop it', async () => {
    const on = await withStories(kind, 2_000)
    const { signal, interrupt } = interruption()
    // Leaves when it is about to look for the second time.
    const after: Clock['after'] = (ms, work, kindOfTimer) => {
      if (kindOfTimer === 'poll') setImmediate(interrupt)
      return systemClock.after(ms, work, kindOfTimer)
    }
    const clock = { now: systemClock.now, after }
    const left = await on.pawlWith({ interrupted: signal, clock }, 'jobs', 'cancel', '--all', '--yes')
    expect(left.exitCode).toBe(130)
    const [, id] = /pawl operations abort ([0-9a-f-]{36})/.exec(left.stderr) ?? []
    expect(left.stderr).toContain(`Operation ${id} is stored, and goes on wherever a node lives.`)
    expect(await on.json('operations', 'show', id ?? '')).toMatchObject({ kind: 'cancel' })
  })

  test('what is not there is not found', async () => {
    const on = await openTarget(kind)
    for (const verb of ['show', 'abort']) {
      expect((await on.pawl('operations', verb, NOBODY)).exitCode).toBe(4)
    }
  })
})

test.each([
  ['no id and no --all', ['cancel'], 'Expected the id of a job, or --all'],
  ['ids and --all', ['cancel', NOBODY, '--all', '--yes'], 'got both'],
  ['a filter without --all', ['retry', '--type', 'story'], 'Expected --all with --type'],
  ['nobody who could be asked', ['cancel', '--all'], 'Expected --yes'],
  ['options of one job', ['retry', '--all', '--yes', '--dependents'], 'with one job only'],
  ['a state that cannot be cancelled', ['cancel', '--all', '--yes', '--status', 'FINISHED'], 'filter.status'],
])('%s is wrong usage', async (_, argv, words) => {
  const on = await openTarget('store')
  const { exitCode, stderr } = await pawl(['jobs', ...argv, ...on.flags], { cwd: on.folder })
  expect(stderr).toContain(words)
  expect(exitCode).toBe(2)
})
