// Every command about jobs and runs, on a store and on a server: the same words, the same JSON, the same exit codes.
import { join } from 'node:path'
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { describe, expect, test } from 'vitest'
import { enqueue, interruption, openTarget, TARGETS, writeInto } from './cli-stage.ts'

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/
const NOBODY = '01975bb0-7c1e-7d6a-9d0c-3f6f8e0f9a41'

interface Job {
  readonly job_id: string
  readonly [field: string]: unknown
}

interface Run {
  readonly run_id: string
}

interface Page<Item> {
  readonly items: readonly Item[]
  readonly next_cursor: string | null
}

describe.each(TARGETS)('on a %s', (kind) => {
  describe('enqueue', () => {
    test('accepts a job, and says which', async () => {
      const on = await openTarget(kind)
      const { exitCode, stdout, stderr } = await on.pawl('enqueue', 'story', '-p', 'genre=gothic')
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
      expect(stdout).toMatch(new RegExp(`^Job ${UUID.source} \\(story\\) is QUEUED\\.\n$`))
    })

    test('takes values for what they are: JSON, text, and paths into objects', async () => {
      const on = await openTarget(kind)
      const given = [
        'n=12',
        'list=[1,2]',
        'text=hello world',
        'zip=01234',
        'quoted="12"',
        'yes=true',
        'a.b.c=1',
        'a.d=x=y',
      ]
      const { params } = await on.json<Job>('enqueue', 'story', ...given.flatMap((pair) => ['-p', pair]))
      expect(params).toEqual({
        n: 12,
        list: [1, 2],
        text: 'hello world',
        zip: '01234',
        quoted: '12',
        yes: true,
        a: { b: { c: 1 }, d: 'x=y' },
      })
    })

    test('takes all params as JSON, from a file or from stdin, and lays single ones over them', async () => {
      const on = await openTarget(kind)
      writeInto(on.folder, 'params.json', { genre: 'gothic', length: 1 })
      const fromText = await on.json<Job>('enqueue', 'story', '--params', '{"genre":"noir"}', '-p', 'length=2')
      const fromFile = await on.json<Job>('enqueue', 'story', '--params', '@params.json', '-p', 'length=3')
      const fromStdin = await on.pawlWith({ stdin: '[1]' }, 'enqueue', 'story', '--params', '-', '--json')
      expect(fromText['params']).toEqual({ genre: 'noir', length: 2 })
      expect(fromFile['params']).toEqual({ genre: 'gothic', length: 3 })
      expect((JSON.parse(fromStdin.stdout) as Job)['params']).toEqual([1])
    })

    test('takes every option of a job', async () => {
      const on = await openTarget(kind)
      const parent = await enqueue(on, 'story')
      const options = [
        '--name',
        'mine',
        '--priority',
        '-5',
        '--run-at',
        '2040-01-01T08:00:00+02:00',
        '--depends-on',
        parent,
      ]
      const more = [
        '--on-parent-failure',
        'wait',
        '--idempotency-key',
        'i',
        '--business-key',
        'b',
        '--tag',
        'x',
        '--tag',
        'y',
      ]
      const last = ['--timeout', '90s', '--max-retries', '7', '--webhook-url', 'https://example.com/hook']
      const job = await on.json<Job>('enqueue', 'story', ...options, ...more, ...last)
      expect(job).toMatchObject({
        name: 'mine',
        priority: -5,
        run_at: '2040-01-01T06:00:00.000Z',
        depends_on: [parent],
        idempotency_key: 'i',
        business_key: 'b',
        tags: ['x', 'y'],
        timeout_ms: 90_000,
        retry_policy: { max_retries: 7 },
        created_by: kind === 'store' ? 'cli:ada' : 'anonymous',
      })
    })

    test('puts a job off by a duration', async () => {
      const on = await openTarget(kind)
      const before = Date.now()
      const { run_at, hold } = await on.json<Job>('enqueue', 'story', '--delay', '2h')
      expect(hold).toBe('delayed')
      expect(Date.parse(String(run_at)) - before).toBeGreaterThanOrEqual(7_200_000)
      expect(Date.parse(String(run_at)) - before).toBeLessThan(7_260_000)
    })

    test('makes a job of a template', async () => {
      const on = await openTarget(kind)
      const template = await on.json<{ template_id: string }>(
        'templates',
        'create',
        'gothic',
        '--type',
        'story',
        '-p',
        'genre=gothic',
      )
      const job = await on.json<Job>('enqueue', '--template', template.template_id, '-p', 'length=3')
      expect(job).toMatchObject({
        job_type: 'story',
        template_id: template.template_id,
        params: { genre: 'gothic', length: 3 },
      })
    })

    test.each([
      ['a JSON list', '[{"type":"story","ref":"a"},{"type":"story","depends_on":["#a"]}]'],
      ['a body of the API', '{"jobs":[{"type":"story","ref":"a"},{"type":"story","depends_on":["#a"]}]}'],
      ['one object a line', '{"type":"story","ref":"a"}\n\n{"type":"story","depends_on":["#a"]}\n'],
    ])('accepts many jobs at once from %s', async (_, text) => {
      const on = await openTarget(kind)
      writeInto(on.folder, 'jobs.json', text)
      const { items } = await on.json<Page<Job>>('enqueue', '--file', 'jobs.json')
      expect(items.map(({ job_type, hold }) => [job_type, hold])).toEqual([
        ['story', null],
        ['story', 'dependencies'],
      ])
      const { stdout } = await on.pawlWith({ stdin: text }, 'enqueue', '--file', '-')
      expect(stdout).toContain('Accepted 2 jobs.')
    })

    test('accepts all of a list or nothing, and says which one is wrong', async () => {
      const on = await openTarget(kind)
      writeInto(on.folder, 'jobs.json', [{ type: 'story' }, { type: 'story', priority: 'high' }])
      const { exitCode, stderr } = await on.pawl('enqueue', '--file', 'jobs.json')
      expect(exitCode).toBe(2)
      expect(stderr).toContain('jobs.1.priority')
      expect((await on.json<Page<Job>>('jobs', 'list')).items).toEqual([])
    })

    test('answers with the first job of an idempotency key, and refuses another job for it', async () => {
      const on = await openTarget(kind)
      const first = await enqueue(on, 'story', '-p', 'n=1', '--idempotency-key', 'k')
      expect(await enqueue(on, 'story', '-p', 'n=1', '--idempotency-key', 'k')).toBe(first)
      const other = await on.pawl('enqueue', 'story', '-p', 'n=2', '--idempotency-key', 'k')
      expect(other.exitCode).toBe(2)
    })

    test('waits for the end and says what came of it', async () => {
      const on = await openTarget(kind)
      await on.scheduler.start()
      const done = await on.pawl('enqueue', 'story', '-p', 'n=1', '--wait')
      expect(done.exitCode).toBe(0)
      expect(done.stdout).toContain('is FINISHED (COMPLETED).')
      expect(done.stdout).toContain('"told"')
      const failed = await on.pawl('enqueue', 'broken', '--wait')
      expect(failed.exitCode).toBe(1)
      expect(failed.stdout).toContain('FAILED (error)')
      expect(failed.stdout).toContain('the pen broke')
    })

    test('waits with --json for one document: the chain, its last job and its run', async () => {
      const on = await openTarget(kind)
      await on.scheduler.start()
      const { exitCode, stdout, stderr } = await on.pawl('enqueue', 'broken', '--wait', '--json')
      expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: '' })
      expect(JSON.parse(stdout)).toMatchObject({
        settled: true,
        outcome: 'FAILED',
        job: { status: 'FINISHED' },
        run: { reason: 'error', error: expect.stringContaining('the pen broke') },
      })
    })

    test('an interrupt stops the waiting, not the job', async () => {
      const on = await openTarget(kind)
      const { signal, interrupt } = interruption()
      const waiting = on.pawlWith({ interrupted: signal }, 'enqueue', 'story', '--wait')
      await expect.poll(async () => (await on.scheduler.listJobs()).items.length).toBe(1)
      interrupt()
      expect((await waiting).exitCode).toBe(130)
      expect((await on.scheduler.listJobs()).items[0]?.status).toBe('QUEUED')
    })

    test.each([
      [['enqueue', 'nonsense'], 2, 'Unknown job type `nonsense`'],
      [['enqueue', 'story', '--priority', '1.5'], 2, 'whole number'],
      [['enqueue', 'story', '--priority', '99999999999'], 2, 'priority'],
      [['enqueue', 'story', '--delay', '10'], 2, '10s, 5m, 2h or 90d'],
      [['enqueue', 'story', '--delay', '1h30m'], 2, 'duration'],
      [['enqueue', 'story', '--delay', '1h', '--run-at', '2040-01-01T00:00:00Z'], 2, 'got both'],
      [['enqueue', 'story', '--run-at', 'tomorrow'], 2, 'instant'],
      [['enqueue', 'story', '--run-at', '2040-01-01T00:00:00'], 2, 'zone'],
      [['enqueue', 'story', '--params', '{'], 2, 'JSON'],
      [['enqueue', 'story', '--params', '@nothing.json'], 2, 'nothing.json'],
      [['enqueue', 'story', '-p', 'novalue'], 2, 'key=value'],
      [['enqueue', 'story', '-p', 'a=1', '-p', 'a=2'], 2, 'twice'],
      [['enqueue', 'story', '-p', 'a=1', '-p', 'a.b=2'], 2, 'not an object'],
      [['enqueue', 'story', '-p', 'a.b=1', '-p', 'a=2'], 2, 'keys of its own'],
      [['enqueue', 'story', '-p', 'id=12345678901234567890'], 2, 'too large'],
      [['enqueue', 'story', '-p', '__proto__.x=1'], 2, '__proto__'],
      [['enqueue', 'story', '--params', '[]', '-p', 'a=1'], 2, 'object'],
      [['enqueue'], 2, 'type or --template'],
      [['enqueue', 'story', '--template', NOBODY], 2, 'not both'],
      [['enqueue', '--template', NOBODY], 2, NOBODY],
      [['enqueue', 'story', '--depends-on', NOBODY], 2, NOBODY],
      [['enqueue', 'story', '--on-parent-failure', 'panic'], 2, 'cancel, run, wait'],
      [['enqueue', 'story', '--timeout', '0s'], 2, 'timeout_ms'],
      [['enqueue', 'story', '--webhook-url', 'ftp://example.com'], 2, 'webhook'],
      [['enqueue', 'story', '--file', 'jobs.json'], 2, 'neither'],
      [['enqueue', '--file', 'missing.json'], 2, 'missing.json'],
    ] as const)('refuses %j', async (argv, code, words) => {
      const on = await openTarget(kind)
      const { exitCode, stdout, stderr } = await on.pawl(...argv)
      expect({ exitCode, stdout }).toEqual({ exitCode: code, stdout: '' })
      expect(stderr).toContain(words)
      expect(stderr).toMatch(/^error: /)
      expect((await on.scheduler.listJobs()).items).toEqual([])
    })

    test('a business key that is taken is a conflict', async () => {
      const on = await openTarget(kind)
      await enqueue(on, 'story', '--business-key', 'b')
      expect((await on.pawl('enqueue', 'story', '--business-key', 'b')).exitCode).toBe(5)
    })
  })

  describe('jobs list', () => {
    test('says so when there are none, and how to make one', async () => {
      const on = await openTarget(kind)
      expect(await on.pawl('jobs', 'list')).toEqual({
        exitCode: 0,
        stdout: 'There are no jobs yet. Make one with `pawl enqueue <type>`.\n',
        stderr: '',
      })
      expect((await on.pawl('jobs', 'list', '--status', 'QUEUED')).stdout).toMatch(/^No jobs match\./)
      expect(await on.json('jobs', 'list')).toEqual({ items: [], next_cursor: null })
    })

    test('shows a table, newest first, and the queue in its order', async () => {
      const on = await openTarget(kind)
      const [low, high] = [
        await enqueue(on, 'story'),
        await enqueue(on, 'story', '--priority', '9', '--name', 'urgent'),
      ]
      const { stdout } = await on.pawl('jobs', 'list')
      const [header, first, second] = stdout.split('\n')
      expect(header).toMatch(/^ID +STATUS +TYPE +NAME +PRIO +TRY +CREATED$/)
      expect(first).toMatch(new RegExp(`^${high}  QUEUED  story  urgent +9 +1  (now|\\d+ s ago)$`))
      expect(second).toContain(low)
      await enqueue(on, 'story')
      const queue = await on.json<Page<Job>>('jobs', 'list', '--status', 'queued')
      expect(queue.items.map(({ job_id }) => job_id).slice(0, 2)).toEqual([high, low])
    })

    test('takes every filter', async () => {
      const on = await openTarget(kind)
      const wanted = await enqueue(on, 'story', '--tag', 'x')
      await enqueue(on, 'broken')
      const template = await on.json<{ template_id: string }>('templates', 'create', 't', '--type', 'story')
      const ofTemplate = await enqueue(on, '--template', template.template_id)
      writeInto(on.folder, 'jobs.json', [{ type: 'story' }])
      const group = await on.json<{ group_id: string; job_ids: string[] }>('groups', 'create', '--file', 'jobs.json')
      const ids = async (...filter: string[]) =>
        (await on.json<Page<Job>>('jobs', 'list', ...filter)).items.map(({ job_id }) => job_id)
      expect(await ids('--tag', 'x')).toEqual([wanted])
      expect(await ids('--template', template.template_id)).toEqual([ofTemplate])
      expect(await ids('--group', group.group_id)).toEqual(group.job_ids)
      expect(await ids('--type', 'broken')).toHaveLength(1)
      expect(await ids('--schedule', NOBODY)).toEqual([])
      expect(await ids('--status', 'RUNNING')).toEqual([])
    })

    test('goes on from page to page, or over all', async () => {
      const on = await openTarget(kind)
      for (let count = 0; count < 5; count++) await enqueue(on, 'story')
      const first = await on.json<Page<Job>>('jobs', 'list', '--limit', '2')
      expect(first.items).toHaveLength(2)
      const next = await on.json<Page<Job>>('jobs', 'list', '--limit', '2', '--cursor', String(first.next_cursor))
      expect(next.items[0]?.job_id).not.toBe(first.items[0]?.job_id)
      const all = await on.json<Page<Job>>('jobs', 'list', '--limit', '2', '--all')
      expect({ count: all.items.length, next_cursor: all.next_cursor }).toEqual({ count: 5, next_cursor: null })
      const { stderr } = await on.pawl('jobs', 'list', '--limit', '2')
      expect(stderr).toContain('There is more: add --cursor ')
    })

    test.each([
      [['--status', 'DONE'], 'QUEUED, RUNNING, CANCELLED, FINISHED'],
      [['--limit', '0'], '1 to 200'],
      [['--limit', 'many'], '1 to 200'],
      [['--cursor', 'nonsense'], 'cursor'],
    ])('refuses %j', async (argv, words) => {
      const on = await openTarget(kind)
      const { exitCode, stderr } = await on.pawl('jobs', 'list', ...argv)
      expect(exitCode).toBe(2)
      expect(stderr).toContain(words)
    })
  })

  describe('jobs show', () => {
    test('shows a queued job with its params', async () => {
      const on = await openTarget(kind)
      const id = await enqueue(on, 'story', '-p', 'genre=gothic', '--name', 'mine')
      const { stdout, exitCode } = await on.pawl('jobs', 'show', id)
      expect(exitCode).toBe(0)
      expect(stdout).toMatch(new RegExp(`^Job ${id}\n  status +QUEUED\n  type +story\n  name +mine\n`))
      expect(stdout).toContain('    {\n      "genre": "gothic"\n    }\n')
      expect(stdout).not.toContain('Run ')
    })

    test('shows the run, the error and all attempts of a chain', async () => {
      const on = await openTarget(kind)
      await on.scheduler.start()
      const id = await enqueue(on, 'broken')
      await on.scheduler.settled(id)
      const retried = (await on.json<Job>('jobs', 'retry', id)).job_id
      await on.scheduler.settled(id)
      const { stdout } = await on.pawl('jobs', 'show', retried)
      expect(stdout).toMatch(/Run .*\n {2}outcome +FAILED \(error\)\n/)
      expect(stdout).toContain('the pen broke')
      expect(stdout).toMatch(new RegExp(`Chain ${id}: FAILED\n`))
      expect(stdout.split('Chain ')[1]).toContain(retried)
    })

    test('prints with --json what the API answers', async () => {
      const on = await openTarget(kind)
      const id = await enqueue(on, 'story')
      expect(await on.json('jobs', 'show', id)).toMatchObject({
        job_id: id,
        chain_id: id,
        status: 'QUEUED',
        params: {},
      })
    })
  })

  test('jobs logs and runs logs print what the child process of a command printed, harmless', async () => {
    const script = String.raw`process.stdout.write('one\n\x1b[31mtwo\r\nlast')`
    const say = defineJob({ type: 'say', command: [process.execPath, '-e', script] })
    const on = await openTarget(kind)
    // Commands are started by a file of the built package.
    await using worker = await openScheduler({ store: sqlite(join(on.folder, 'pawl.db')), jobs: [say] })
    const id = await enqueue(on, 'say')
    await worker.start()
    // Marked, so that it cannot pass for what a handler logged.
    const printed = '│ one\n│ \\x1b[31mtwo\n│ last\n'
    expect((await on.pawl('jobs', 'logs', id, '--follow')).stdout).toBe(printed)
    expect((await on.pawl('jobs', 'logs', id)).stdout).toBe(printed)
    const { items } = await on.json<Page<Run>>('runs', 'list', '--job', id)
    const runId = items[0]?.run_id ?? ''
    expect((await on.pawl('runs', 'logs', runId)).stdout).toBe(printed)
    const output = 'one\n\u001b[31mtwo\r\nlast'
    expect(await on.json('jobs', 'logs', id)).toEqual({ items: [], next_cursor: null, output })
  })

  test('jobs logs prints what was logged, and follows until the end', async () => {
    const on = await openTarget(kind)
    const id = await enqueue(on, 'story')
    expect((await on.pawl('jobs', 'logs', id)).stdout).toBe('Nothing was logged.\n')
    const following = on.pawl('jobs', 'logs', id, '--follow')
    await on.scheduler.start()
    const { stdout, exitCode } = await following
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z INFO {2}once upon a time \{"page":1\}\n$/)
    const page = await on.json<Page<Job>>('jobs', 'logs', id)
    expect(page).toMatchObject({ items: [{ line: 1, level: 'info', text: 'once upon a time' }], next_cursor: null })
    const lines = await on.pawl('jobs', 'logs', id, '--follow', '--json')
    expect(
      lines.stdout
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { line: number }).line),
    ).toEqual([1])
  })

  test('jobs cancel cancels what waits, and what runs when asked to', async () => {
    const on = await openTarget(kind)
    const waiting = await enqueue(on, 'story', '--delay', '1h')
    expect((await on.pawl('jobs', 'cancel', waiting, '--reason', 'no more')).stdout).toContain('is CANCELLED.')
    expect(await on.json('jobs', 'show', waiting)).toMatchObject({ cancel_reason: 'no more' })
    await on.scheduler.start()
    const running = await enqueue(on, 'wait')
    await expect.poll(async () => (await on.scheduler.getJob(running)).status).toBe('RUNNING')
    expect((await on.pawl('jobs', 'cancel', running)).stdout).toContain('It runs to its end')
    expect((await on.pawl('jobs', 'cancel', running, '--abort')).stdout).toContain('is being interrupted')
    expect((await on.scheduler.settled(running)).outcome).toBe('CANCELLED')
  })

  test('jobs move changes the order, and wants exactly one place', async () => {
    const on = await openTarget(kind)
    const [a, b, c] = [await enqueue(on, 'story'), await enqueue(on, 'story'), await enqueue(on, 'story')]
    const order = async () => (await on.scheduler.listQueue()).map(({ jobId }) => jobId)
    expect((await on.pawl('jobs', 'move', c, '--to', 'front')).exitCode).toBe(0)
    expect(await order()).toEqual([c, a, b])
    await on.json('jobs', 'move', c, '--after', a)
    expect(await order()).toEqual([a, c, b])
    await on.json('jobs', 'move', b, '--before', a)
    expect(await order()).toEqual([b, a, c])
    await on.json('jobs', 'move', b, '--to', 'back')
    expect(await order()).toEqual([a, c, b])
    expect((await on.pawl('jobs', 'move', c)).exitCode).toBe(2)
    expect((await on.pawl('jobs', 'move', c, '--to', 'front', '--before', a)).exitCode).toBe(2)
    expect((await on.pawl('jobs', 'move', c, '--to', 'middle')).exitCode).toBe(2)
    expect((await on.pawl('jobs', 'move', c, '--before', NOBODY)).exitCode).toBe(2)
  })

  test('jobs edit changes what waits', async () => {
    const on = await openTarget(kind)
    const id = await enqueue(on, 'story', '--delay', '1h')
    const edited = await on.json<Job>('jobs', 'edit', id, '--priority', '3', '-p', 'x=1', '--run-at', 'now')
    expect(edited).toMatchObject({ priority: 3, params: { x: 1 }, hold: null })
    expect((await on.pawl('jobs', 'edit', id)).exitCode).toBe(2)
    await on.pawl('jobs', 'cancel', id)
    expect((await on.pawl('jobs', 'edit', id, '--priority', '1')).exitCode).toBe(5)
  })

  test('jobs retry and runs retry try again what failed, and nothing else', async () => {
    const on = await openTarget(kind)
    await on.scheduler.start()
    const id = await enqueue(on, 'broken')
    await on.scheduler.settled(id)
    const second = await on.json<Job>('jobs', 'retry', id, '--priority', '4')
    expect(second).toMatchObject({ retry_of: id, attempt: 2, priority: 4 })
    await on.scheduler.settled(id)
    const [run] = (await on.json<Page<{ run_id: string }>>('runs', 'list', '--job', second.job_id)).items
    expect((await on.pawl('runs', 'retry', String(run?.run_id), '--dependents')).exitCode).toBe(0)
    await on.scheduler.settled(id)
    expect((await on.pawl('jobs', 'retry', id)).exitCode).toBe(5)
    const fine = await enqueue(on, 'story')
    await on.scheduler.settled(fine)
    expect((await on.pawl('jobs', 'retry', fine)).exitCode).toBe(5)
  })

  test('runs list, show and logs tell of executions', async () => {
    const on = await openTarget(kind)
    expect((await on.pawl('runs', 'list')).stdout).toMatch(/^There are no runs yet\./)
    await on.scheduler.start()
    const [good, bad] = [await enqueue(on, 'story'), await enqueue(on, 'broken')]
    await on.scheduler.settled(good)
    await on.scheduler.settled(bad)
    const { stdout } = await on.pawl('runs', 'list', '--status', 'failed')
    expect(stdout).toMatch(/^ID +STATUS +TYPE +JOB +TRY +STARTED +TOOK +ERROR\n/)
    expect(stdout).toMatch(/FAILED \(error\).*the pen broke\n$/)
    expect((await on.json<Page<object>>('runs', 'list', '--type', 'story')).items).toHaveLength(1)
    const [run] = (await on.json<Page<{ run_id: string }>>('runs', 'list', '--job', good)).items
    const id = String(run?.run_id)
    expect((await on.pawl('runs', 'show', id)).stdout).toMatch(
      new RegExp(`^Run ${id}\n  job +${good}\n  type +story\n`),
    )
    expect(await on.json('runs', 'show', id)).toMatchObject({ status: 'COMPLETED', result: { told: {} } })
    expect((await on.pawl('runs', 'logs', id, '-f')).stdout).toContain('once upon a time')
  })

  test('why says in words what keeps a job, and how one ended', async () => {
    const on = await openTarget(kind)
    const id = await enqueue(on, 'story', '--delay', '1h')
    const { stdout } = await on.pawl('why', id)
    expect(stdout).toMatch(/^Queued: .* \(delayed\)\n/)
    expect(stdout).not.toMatch(/\n {2}delayed/)
    expect(await on.json('why', id)).toMatchObject({ job_id: id, state: 'QUEUED', reasons: expect.any(Array) })
  })

  test.each([
    ['jobs', 'show'],
    ['jobs', 'logs'],
    ['jobs', 'cancel'],
    ['jobs', 'retry'],
    ['jobs', 'move', '--to', 'front'],
    ['jobs', 'edit', '--priority', '1'],
    ['runs', 'show'],
    ['runs', 'logs'],
    ['runs', 'retry'],
    ['why'],
  ])('%s %s of an unknown id exits with 4 and names where it looked', async (...argv) => {
    const on = await openTarget(kind)
    const words = argv.filter((word) => word !== undefined)
    for (const id of [NOBODY, 'nonsense', '../../etc/passwd', '.']) {
      const { exitCode, stdout, stderr } = await on.pawl(...words, id)
      expect({ exitCode, stdout }).toEqual({ exitCode: 4, stdout: '' })
      expect(stderr).toContain(
        kind === 'store' ? 'Looked in the store sqlite:pawl.db.' : 'Looked in the server http://',
      )
    }
    const json = await on.pawl(...words, NOBODY, '--json')
    expect({ exitCode: json.exitCode, stdout: json.stdout }).toEqual({ exitCode: 4, stdout: '' })
    expect(JSON.parse(json.stderr)).toMatchObject({ status: 404, code: expect.stringMatching(/_not_found$/) })
    expect((await on.pawl(...words, '')).exitCode).toBe(2)
  })

  test('cancelling what has ended is a conflict, and what is cancelled already is not', async () => {
    const on = await openTarget(kind)
    await on.scheduler.start()
    const ended = await enqueue(on, 'story')
    await on.scheduler.settled(ended)
    const { exitCode, stderr } = await on.pawl('jobs', 'cancel', ended)
    expect(exitCode).toBe(5)
    expect(stderr).toContain(ended)
    const waiting = await enqueue(on, 'story', '--delay', '1h')
    await on.pawl('jobs', 'cancel', waiting)
    expect((await on.pawl('jobs', 'cancel', waiting)).exitCode).toBe(0)
  })
})
