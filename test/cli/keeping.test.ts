// Limits, keys, the audit log, pruning, direct execution and what shows how things stand, on a store and on a server.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { enqueue, interruption, openTarget, pawl, TARGETS } from './cli-stage.ts'

const NOBODY = '01975bb0-7c1e-7d6a-9d0c-3f6f8e0f9a41'

interface Page<Item = Record<string, unknown>> {
  readonly items: readonly Item[]
  readonly next_cursor: string | null
}

describe.each(TARGETS)('on a %s', (kind) => {
  test('limits are listed, set and removed', async () => {
    const on = await openTarget(kind)
    expect((await on.pawl('limits', 'list')).stdout).toBe('LIMIT         MAX\nresource:pen    1\n')
    expect(await on.json('limits', 'set', 'running', '4')).toEqual({ name: 'running', max: 4 })
    expect((await on.pawl('limits', 'set', 'type:story', '2')).stdout).toBe('The limit type:story is 2.\n')
    expect((await on.json<Page>('limits', 'list')).items).toHaveLength(3)
    expect((await on.pawl('limits', 'remove', 'running')).exitCode).toBe(0)
    expect((await on.pawl('limits', 'remove', 'running')).exitCode).toBe(4)
    expect((await on.pawl('limits', 'set', 'running', '0')).exitCode).toBe(2)
    expect((await on.pawl('limits', 'set', 'running', 'many')).exitCode).toBe(2)
    expect((await on.pawl('limits', 'set', 'nonsense', '1')).exitCode).toBe(2)
  })

  test('types say what can be enqueued, and who handles it', async () => {
    const on = await openTarget(kind)
    expect((await on.pawl('types')).stdout).toMatch(/story +by nobody now +3  none/)
    await on.scheduler.start()
    expect((await on.pawl('types')).stdout).toMatch(/story +yes /)
    expect((await on.json<Page>('types')).items.map(({ type }) => type)).toEqual(['broken', 'story', 'wait'])
  })

  test('nodes and status say who executes', async () => {
    const on = await openTarget(kind)
    expect((await on.pawl('nodes')).stdout).toMatch(/^No process executes jobs\. Start one with/)
    await on.scheduler.start()
    const id = await enqueue(on, 'wait')
    await expect.poll(async () => (await on.scheduler.getJob(id)).status).toBe('RUNNING')
    await enqueue(on, 'story')
    expect((await on.pawl('nodes')).stdout).toMatch(
      /\n\S{36} {2}working .*broken, story, wait\n$|\n\S{36} {2}working .*story/,
    )
    const { stdout } = await on.pawl('status')
    expect(stdout).toMatch(kind === 'store' ? /^Status of the store sqlite:pawl\.db\n/ : /^Status of the server http:/)
    expect(stdout).toMatch(/processes +1 working\n/)
    expect(stdout).toMatch(/queue +1\n/)
    expect(await on.json('status')).toMatchObject({ queue_length: 1, cumulative_stats: { total_executed: 0 } })
  })

  test('stats count what came of jobs', async () => {
    const on = await openTarget(kind)
    await on.scheduler.start()
    await on.scheduler.settled(await enqueue(on, 'story'))
    await on.scheduler.settled(await enqueue(on, 'broken'))
    const { stdout } = await on.pawl('stats')
    expect(stdout).toMatch(/^In all\n {2}executed +2\n {2}completed +1\n {2}failed +1\n/)
    expect(stdout).toMatch(/HOUR +EXECUTED/)
    expect(await on.json('stats')).toMatchObject({ totals: { executed: 2, completed: 1, failed: 1 } })
  })

  test('stats say where a count stopped', async () => {
    const on = await openTarget(kind)
    await on.scheduler.enqueueMany(Array.from({ length: 10_000 }, () => ({ type: 'story', params: null })))
    expect((await on.pawl('stats')).stdout).toMatch(/queued +10000 or more\n +ready +10000 or more\n +running +0\n/)
  })

  test('the audit log says who changed what', async () => {
    const on = await openTarget(kind)
    expect((await on.pawl('audit')).stdout).toBe('Nothing was changed yet.\n')
    const id = await enqueue(on, 'story', '--delay', '1h')
    await on.pawl('jobs', 'cancel', id)
    const actor = kind === 'store' ? 'cli:ada' : 'anonymous'
    const { items } = await on.json<Page>('audit', '--subject', id)
    expect(items.map((entry) => [entry['actor'], entry['action']])).toEqual([
      [actor, 'job.cancel'],
      [actor, 'job.enqueue'],
    ])
    expect((await on.pawl('audit', '--actor', actor)).stdout).toContain(id)
    expect((await on.pawl('audit', '--actor', 'nobody')).stdout).toBe('No entries match.\n')
  })

  describe('prune', () => {
    test('counts first, removes then, and says the same number', async () => {
      const on = await openTarget(kind)
      await on.scheduler.start()
      for (let count = 0; count < 3; count++) await on.scheduler.settled(await enqueue(on, 'story'))
      await on.scheduler.runDirect('story', {})
      const alive = await enqueue(on, 'story', '--delay', '1h')
      // What ended in this very millisecond is not older than it.
      await expect.poll(async () => (await on.json('prune', '--older-than', '0s', '--dry-run'))['jobs_removed']).toBe(3)
      const dry = await on.json('prune', '--older-than', '0s', '--dry-run')
      expect(dry).toMatchObject({ dry_run: true, jobs_removed: 3, reservations_removed: 1 })
      expect((await on.json<Page>('jobs', 'list')).items).toHaveLength(4)
      expect((await on.pawl('prune', '--older-than', '1d', '--dry-run')).stdout).toMatch(/^Would remove 0 jobs /)
      const real = await on.pawl('prune', '--older-than', '0s')
      expect(real.stdout).toMatch(
        /^Removed 3 jobs with their runs and logs, 0 groups, 1 record of direct executions, 0 bulk operations and \d+ entries /,
      )
      expect((await on.json<Page<{ job_id: string }>>('jobs', 'list')).items.map(({ job_id }) => job_id)).toEqual([
        alive,
      ])
    })

    test('tells of the groups that go with their last member', async () => {
      const on = await openTarget(kind)
      await on.scheduler.start()
      const jobs = [
        { type: 'story', params: {} },
        { type: 'story', params: {} },
      ]
      const group = await on.scheduler.groups.create({ jobs })
      await group.settled()
      await expect.poll(async () => (await on.json('prune', '--older-than', '0s', '--dry-run'))['jobs_removed']).toBe(2)
      const dry = await on.pawl('prune', '--older-than', '0s', '--dry-run')
      expect(dry.stdout).toMatch(
        /^Would remove 2 jobs with their runs and logs, 1 group, 0 records of direct executions, 0 bulk operations and /,
      )
      const real = await on.pawl('prune', '--older-than', '0s')
      expect(real.stdout).toMatch(
        /^Removed 2 jobs with their runs and logs, 1 group, 0 records of direct executions, 0 bulk operations and \d+ entries /,
      )
      expect(await on.json('prune', '--older-than', '0s')).toMatchObject({ jobs_removed: 0, groups_removed: 0 })
    })

    test('wants an age, and understands no other words', async () => {
      const on = await openTarget(kind)
      expect((await on.pawl('prune')).exitCode).toBe(2)
      expect((await on.pawl('prune', '--older-than', 'yesterday')).exitCode).toBe(2)
      expect((await on.pawl('prune', '--older-than', '-1d')).exitCode).toBe(2)
    })
  })

  describe('run', () => {
    test('executes now and prints the result', async () => {
      const on = await openTarget(kind)
      await on.scheduler.start()
      const { stdout, exitCode } = await on.pawl('run', 'story', '-p', 'genre=gothic')
      expect(exitCode).toBe(0)
      expect(stdout).toMatch(/^Completed\n {2}reservation +\S{36}\n/)
      expect(stdout).toContain('"genre": "gothic"')
      expect(await on.json('run', 'story', '--params', '{"n":1}')).toMatchObject({
        result: { told: { n: 1 } },
        skipped: null,
      })
      expect((await on.json<Page>('jobs', 'list')).items).toEqual([])
    })

    test('exits with 1 when the handler fails, and tells its error', async () => {
      const on = await openTarget(kind)
      await on.scheduler.start()
      const { exitCode, stdout, stderr } = await on.pawl('run', 'broken')
      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
      expect(stderr).toContain('the pen broke')
      const json = await on.pawl('run', 'broken', '--json')
      expect(JSON.parse(json.stderr)).toMatchObject({ status: 502, code: 'direct_failed', reason: 'error' })
    })

    test('exits with 1 when nobody handles it, 4 for an unknown type, 5 when it may not wait', async () => {
      const on = await openTarget(kind)
      const alone = await on.pawl('run', 'story')
      expect(alone.exitCode).toBe(1)
      expect(alone.stderr).toContain('Start one with `pawl worker` or `pawl serve`.')
      expect((await on.pawl('run', 'nonsense')).exitCode).toBe(4)
      await on.scheduler.start()
      const id = await enqueue(on, 'wait')
      await expect.poll(async () => (await on.scheduler.getJob(id)).status).toBe('RUNNING')
      expect((await on.pawl('run', 'story', '--on-busy', 'reject')).exitCode).toBe(5)
      expect((await on.pawl('run', 'story', '--wait-timeout', '20ms')).exitCode).toBe(1)
    })

    test('gives its ticket back when it is interrupted', async () => {
      const on = await openTarget(kind)
      await on.scheduler.start()
      const id = await enqueue(on, 'wait')
      await expect.poll(async () => (await on.scheduler.getJob(id)).status).toBe('RUNNING')
      const { signal, interrupt } = interruption()
      const running = on.pawlWith({ interrupted: signal }, 'run', 'story')
      const statuses = async () => (await on.scheduler.listReservations()).items.map(({ status }) => status)
      await expect.poll(statuses).toEqual(['WAITING'])
      interrupt()
      const { exitCode, stderr } = await running
      expect({ exitCode, stderr }).toEqual({ exitCode: 130, stderr: '' })
      await expect.poll(statuses).toEqual(['RELEASED'])
    })
  })

  test('keys are made, listed and revoked; from the first on, a server asks for them', async () => {
    const on = await openTarget(kind)
    expect((await on.pawl('keys', 'list')).stdout).toMatch(/^There are no keys, so everybody/)
    expect((await on.pawl('keys', 'create', '--name', 'x', '--role', 'king')).exitCode).toBe(2)
    expect((await on.pawl('keys', 'create', '--name', 'x')).exitCode).toBe(2)
    const admin = await on.json<{ key: string; key_id: string }>('keys', 'create', '--name', 'boss', '--role', 'admin')
    expect(admin).toEqual({
      key_id: expect.any(String),
      key: expect.stringMatching(/^pawl_/),
      name: 'boss',
      role: 'admin',
      expires_at: null,
    })
    const asAdmin = kind === 'server' ? ['--key', admin.key] : []
    const viewer = await on.json<{ key: string; key_id: string; expires_at: string }>(
      'keys',
      'create',
      '--name',
      'eye',
      '--role',
      'viewer',
      '--expires',
      '90d',
      ...asAdmin,
    )
    expect(Date.parse(viewer.expires_at) - Date.now()).toBeGreaterThan(89 * 86_400_000)
    const { stdout } = await on.pawl('keys', 'list', ...asAdmin)
    expect(stdout).toMatch(new RegExp(`${viewer.key_id}  valid  viewer  eye +pawl_`))
    expect(stdout).not.toContain(viewer.key)
    if (kind === 'server') {
      // What a server has learnt from its store it believes for a second.
      await expect.poll(async () => (await on.pawl('jobs', 'list')).exitCode, { timeout: 10_000 }).toBe(1)
      const closed = await on.pawl('jobs', 'list')
      expect(closed.stderr).toContain('--key or PAWL_API_KEY')
      expect((await on.pawlWith({ env: { PAWL_API_KEY: viewer.key } }, 'jobs', 'list')).exitCode).toBe(0)
      expect((await on.pawl('enqueue', 'story', '--key', viewer.key)).exitCode).toBe(1)
      expect((await on.pawl('jobs', 'list', '--key', 'pawl_wrong')).exitCode).toBe(1)
    }
    expect((await on.pawl('keys', 'revoke', viewer.key, ...asAdmin)).exitCode).toBe(2)
    expect((await on.pawl('keys', 'revoke', viewer.key_id, ...asAdmin)).stdout).toContain('opens nothing any more')
    expect((await on.pawl('keys', 'revoke', NOBODY, ...asAdmin)).exitCode).toBe(4)
    if (kind === 'server') {
      const asViewer = async () => (await on.pawl('jobs', 'list', '--key', viewer.key)).exitCode
      await expect.poll(asViewer, { timeout: 10_000 }).toBe(1)
    }
  })
})

describe('a server that does not answer', () => {
  test('exits with 1 and says so in a sentence', async () => {
    const { exitCode, stdout, stderr } = await pawl(['jobs', 'list', '--server', 'http://127.0.0.1:9'])
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toMatch(/^error: .*http:\/\/127\.0\.0\.1:9/)
    expect(stderr).not.toContain('    at ')
    const json = await pawl(['jobs', 'list', '--server', 'http://127.0.0.1:9', '--json'])
    expect(JSON.parse(json.stderr)).toMatchObject({ code: 'server_unreachable' })
  })

  test('as Pawl would is told apart from one that has not what was asked for', async () => {
    const other = createServer((_, response) =>
      response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>No</h1>'),
    )
    await new Promise<void>((listening) => other.listen(0, '127.0.0.1', listening))
    onTestFinished(() => void other.close())
    const { port } = other.address() as AddressInfo
    const { exitCode, stderr } = await pawl(['jobs', 'show', NOBODY, '--server', `http://127.0.0.1:${port}`])
    expect(exitCode).toBe(1)
    expect(stderr).toContain('Check that this is the address of a Pawl server.')
  })
})
