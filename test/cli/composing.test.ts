// Schedules, templates, groups and webhooks, on a store and on a server.
import { describe, expect, test } from 'vitest'
import { type CliTarget, enqueue, openTarget, TARGETS, writeInto } from './cli-stage.ts'

const NOBODY = '01975bb0-7c1e-7d6a-9d0c-3f6f8e0f9a41'

interface Page<Item = Record<string, unknown>> {
  readonly items: readonly Item[]
  readonly next_cursor: string | null
}

describe.each(TARGETS)('on a %s', (kind) => {
  describe('schedules', () => {
    const create = async (on: CliTarget, ...argv: string[]) =>
      (await on.json<{ schedule_id: string }>('schedules', 'create', 'nightly', '--type', 'story', ...argv)).schedule_id

    test('are made by cron or by interval, with every option', async () => {
      const on = await openTarget(kind)
      const options = ['--timezone', 'Europe/Vienna', '-p', 'genre=gothic', '--missed', 'all', '--overlap', 'queue-one']
      const more = ['--priority', '3', '--tag', 'n', '--business-key', 'k', '--disabled']
      const cron = await on.json(
        'schedules',
        'create',
        'nightly',
        '--type',
        'story',
        '--cron',
        '0 8 * * *',
        ...options,
        ...more,
      )
      expect(cron).toMatchObject({
        name: 'nightly',
        type: 'story',
        cron: '0 8 * * *',
        timezone: 'Europe/Vienna',
        enabled: false,
        param_overrides: { genre: 'gothic' },
        missed: 'all',
        overlap: 'queue-one',
        priority: 3,
        tags: ['n'],
        business_key: 'k',
      })
      const { stdout } = await on.pawl('schedules', 'create', 'poll', '--type', 'story', '--every', '5m')
      expect(stdout).toMatch(/^Schedule .*\n {2}name +poll\n {2}state +enabled\n {2}when +every 5 m\n/)
    })

    test('are listed and shown with their next slots', async () => {
      const on = await openTarget(kind)
      expect((await on.pawl('schedules', 'list')).stdout).toMatch(/^There are no schedules yet\./)
      const id = await create(on, '--cron', '0 8 * * *')
      expect((await on.pawl('schedules', 'list')).stdout).toMatch(
        new RegExp(`^ID .*\n${id}  enabled  nightly  0 8 \\* \\* \\* UTC  in \\d+ [mh]  story\n$`),
      )
      expect((await on.json<Page>('schedules', 'list', '--disabled')).items).toEqual([])
      expect((await on.json<Page>('schedules', 'list', '--enabled')).items).toHaveLength(1)
      const { stdout } = await on.pawl('schedules', 'show', id)
      expect(stdout.match(/T08:00:00\.000Z/g)?.length).toBeGreaterThanOrEqual(3)
    })

    test('are changed, switched, triggered and removed', async () => {
      const on = await openTarget(kind)
      const id = await create(on, '--every', '1h')
      expect(await on.json('schedules', 'change', id, '--cron', '@daily', '--name', 'daily')).toMatchObject({
        cron: '@daily',
        every_ms: null,
        name: 'daily',
      })
      expect((await on.pawl('schedules', 'disable', id)).stdout).toMatch(/state +disabled/)
      expect(await on.json('schedules', 'enable', id)).toMatchObject({ enabled: true })
      expect((await on.pawl('schedules', 'trigger', id)).stdout).toMatch(/^Job .* \(story\) is QUEUED\.\n$/)
      expect((await on.json<Page>('jobs', 'list', '--schedule', id)).items).toHaveLength(1)
      expect(await on.json('schedules', 'remove', id)).toEqual({ schedule_id: id, removed: true })
      expect((await on.pawl('schedules', 'show', id)).exitCode).toBe(4)
    })

    test('are previewed, stored or not', async () => {
      const on = await openTarget(kind)
      const id = await create(on, '--cron', '30 2 * * *', '--timezone', 'Europe/Vienna')
      const from = ['--from', '2027-03-27T12:00:00Z', '--count', '2']
      const stored = await on.pawl('schedules', 'preview', id, ...from)
      const loose = await on.pawl(
        'schedules',
        'preview',
        '--cron',
        '30 2 * * *',
        '--timezone',
        'Europe/Vienna',
        ...from,
      )
      expect(stored.stdout).toBe(loose.stdout)
      expect(stored.stdout).toContain('clocks go forward')
      expect(await on.json('schedules', 'preview', id, ...from)).toEqual({
        items: [
          { at: '2027-03-28T01:00:00.000Z', local: expect.stringContaining('2027-03-28'), note: 'dst-gap' },
          { at: '2027-03-29T00:30:00.000Z', local: expect.stringContaining('2027-03-29'), note: null },
        ],
        next_cursor: null,
      })
      expect((await on.json<Page>('schedules', 'preview', '--every', '90s', '--count', '3')).items).toHaveLength(3)
    })

    test('tell which slots were skipped', async () => {
      const on = await openTarget(kind)
      const id = await create(on, '--every', '1h')
      expect((await on.pawl('schedules', 'skipped', id)).stdout).toBe('No slot was skipped.\n')
      expect(await on.json('schedules', 'skipped', id)).toEqual({ items: [], next_cursor: null })
    })

    test.each([
      [['create', 'x', '--type', 'story'], '--cron or --every'],
      [['create', 'x', '--type', 'story', '--cron', '@daily', '--every', '1h'], 'got both'],
      [['create', 'x', '--cron', '@daily'], '--type or --template'],
      [['create', 'x', '--type', 'story', '--cron', 'at noon'], 'cron'],
      [['create', 'x', '--type', 'story', '--cron', '@daily', '--timezone', 'Nowhere/Land'], 'Nowhere/Land'],
      [['create', 'x', '--type', 'nonsense', '--cron', '@daily'], 'nonsense'],
      [['create', 'x', '--type', 'story', '--every', '10ms'], 'every_ms'],
      [['create', 'x', '--type', 'story', '--every', 'often'], 'duration'],
      [['preview'], '--cron or --every'],
      [['preview', NOBODY, '--cron', '@daily'], '--cron or --every'],
      [['preview', '--cron', '@daily', '--count', '101'], '100'],
      [['list', '--enabled', '--disabled'], 'got both'],
      [['change', NOBODY], 'something to change'],
    ])('refuse %j', async (argv, words) => {
      const on = await openTarget(kind)
      const { exitCode, stderr } = await on.pawl('schedules', ...argv)
      expect(exitCode).toBe(2)
      expect(stderr).toContain(words)
    })

    test.each(['show', 'enable', 'disable', 'trigger', 'preview', 'skipped', 'remove'])(
      '%s of an unknown one exits with 4',
      async (verb) => {
        const on = await openTarget(kind)
        expect((await on.pawl('schedules', verb, NOBODY)).exitCode).toBe(4)
      },
    )
  })

  describe('templates', () => {
    test('are made, listed, shown, changed and archived', async () => {
      const on = await openTarget(kind)
      expect((await on.pawl('templates', 'list')).stdout).toMatch(/^There are no templates yet\./)
      const options = ['-p', 'genre=gothic', '--max-retries', '1', '--timeout', '5m', '--description', 'dark']
      const made = await on.json<{ template_id: string }>(
        'templates',
        'create',
        'gothic',
        '--type',
        'story',
        ...options,
      )
      const id = made.template_id
      expect(made).toMatchObject({
        name: 'gothic',
        job_type: 'story',
        default_params: { genre: 'gothic' },
        retry_policy: { max_retries: 1 },
        timeout_ms: 300_000,
        description: 'dark',
      })
      expect((await on.pawl('templates', 'list')).stdout).toContain(`${id}  gothic  story  active`)
      const changed = await on.pawl('templates', 'change', id, '--timeout', 'none', '--name', 'darker')
      expect(changed.stdout).toMatch(/name +darker\n[^]*timeout +none\n/)
      expect((await on.pawl('templates', 'show', id)).stdout).toBe(changed.stdout)
      expect(await on.json('templates', 'archive', id)).toMatchObject({ archived_at: expect.any(String) })
      expect((await on.json<Page>('templates', 'list')).items).toEqual([])
      expect((await on.json<Page>('templates', 'list', '--archived')).items).toHaveLength(1)
      expect((await on.pawl('enqueue', '--template', id)).exitCode).toBe(5)
      expect((await on.pawl('templates', 'change', id, '--name', 'x')).exitCode).toBe(5)
    })

    test('refuse what is wrong or unknown', async () => {
      const on = await openTarget(kind)
      expect((await on.pawl('templates', 'create', 'x')).exitCode).toBe(2)
      expect((await on.pawl('templates', 'create', 'x', '--type', 'nonsense')).exitCode).toBe(2)
      expect((await on.pawl('templates', 'change', NOBODY)).exitCode).toBe(2)
      expect((await on.pawl('templates', 'show', NOBODY)).exitCode).toBe(4)
      expect((await on.pawl('templates', 'archive', NOBODY)).exitCode).toBe(4)
    })
  })

  describe('groups', () => {
    test('are made of a file, listed, shown and cancelled', async () => {
      const on = await openTarget(kind)
      expect((await on.pawl('groups', 'list')).stdout).toMatch(/^There are no groups yet\./)
      writeInto(on.folder, 'jobs.json', [{ type: 'story' }, { type: 'story' }])
      const options = ['--mode', 'sequential', '--on-failure', 'continue', '--file', 'jobs.json']
      const group = await on.json<{ group_id: string; job_ids: string[] }>('groups', 'create', 'book', ...options)
      expect(group).toMatchObject({
        name: 'book',
        mode: 'sequential',
        on_failure: 'continue',
        counts: { total: 2, queued: 2 },
      })
      expect((await on.pawl('groups', 'list')).stdout).toMatch(
        new RegExp(`${group.group_id}  QUEUED +0 of 2 +0  book +sequential`),
      )
      const { stdout } = await on.pawl('groups', 'show', group.group_id)
      expect(stdout).toContain('2: 2 queued')
      for (const id of group.job_ids) expect(stdout).toContain(id)
      const cancelled = await on.pawl('groups', 'cancel', group.group_id, '--abort', '--reason', 'no more')
      expect(cancelled.exitCode).toBe(0)
      await on.scheduler.start()
      await expect.poll(async () => (await on.json('groups', 'show', group.group_id))['status']).toBe('CANCELLED')
    })

    test('can come from stdin, and have no name', async () => {
      const on = await openTarget(kind)
      const { stdout, exitCode } = await on.pawlWith({ stdin: '{"type":"story"}' }, 'groups', 'create', '--file', '-')
      expect(exitCode).toBe(0)
      expect(stdout).toMatch(/^Group .*\n {2}status +QUEUED\n/)
    })

    test('refuse what is wrong, unknown or ended', async () => {
      const on = await openTarget(kind)
      writeInto(on.folder, 'empty.json', '[]')
      writeInto(on.folder, 'jobs.json', [{ type: 'story' }])
      expect((await on.pawl('groups', 'create')).exitCode).toBe(2)
      expect((await on.pawl('groups', 'create', '--file', 'empty.json')).exitCode).toBe(2)
      expect((await on.pawl('groups', 'create', '--file', 'jobs.json', '--mode', 'random')).exitCode).toBe(2)
      expect((await on.pawl('groups', 'show', NOBODY)).exitCode).toBe(4)
      expect((await on.pawl('groups', 'cancel', NOBODY)).exitCode).toBe(4)
      const { group_id } = await on.json<{ group_id: string }>('groups', 'create', '--file', 'jobs.json')
      await on.scheduler.start()
      await expect.poll(async () => (await on.json('groups', 'show', group_id))['status']).toBe('COMPLETED')
      expect((await on.pawl('groups', 'cancel', group_id)).exitCode).toBe(5)
    })
  })

  describe('webhooks', () => {
    const URL = 'https://example.com/hooks/pawl'

    test('are made with a secret that is shown once, listed, shown, changed and removed', async () => {
      const on = await openTarget(kind)
      expect((await on.pawl('webhooks', 'list')).stdout).toMatch(/^There are no webhooks yet\./)
      const made = await on.json<{ webhook_id: string; secret: string }>(
        'webhooks',
        'create',
        URL,
        '--event',
        'job.settled',
        '--type',
        'story',
        '--name',
        'ops',
        '--disabled',
      )
      const id = made.webhook_id
      expect(made).toMatchObject({
        url: URL,
        events: ['job.settled'],
        job_types: ['story'],
        name: 'ops',
        enabled: false,
      })
      expect(made.secret).toMatch(/^whsec_/)
      const shown = await on.pawl('webhooks', 'show', id)
      expect(shown.stdout).toMatch(/events +job\.settled\n/)
      expect(shown.stdout).not.toContain(made.secret)
      expect((await on.pawl('webhooks', 'list')).stdout).toContain(`${id}  disabled  ${URL}`)
      expect(await on.json('webhooks', 'change', id, '--all-events', '--all-types', '--enable')).toMatchObject({
        events: null,
        job_types: null,
        enabled: true,
      })
      const { stdout } = await on.pawl('webhooks', 'create', URL)
      expect(stdout).toMatch(/Keep this secret; it is not shown again\.\n {2}secret +whsec_/)
      expect((await on.pawl('webhooks', 'remove', id)).exitCode).toBe(0)
      expect((await on.pawl('webhooks', 'show', id)).exitCode).toBe(4)
    })

    test('tell what was sent, and send it again', async () => {
      const on = await openTarget(kind)
      // On a store, the local configuration says which private addresses may be called.
      writeInto(on.folder, 'pawl.config.mjs', "export default { jobs: [], webhooks: { allowPrivate: ['127.0.0.1'] } }")
      const { webhook_id: id } = await on.json<{ webhook_id: string }>(
        'webhooks',
        'create',
        'http://127.0.0.1:9/',
        '--event',
        'job.settled',
      )
      await on.scheduler.start()
      const job = await enqueue(on, 'story')
      await on.scheduler.settled(job)
      await on.scheduler.stop()
      const page = await on.json<Page<{ delivery_id: string }>>('webhooks', 'deliveries', id)
      expect(page.items).toMatchObject([{ job_id: job, event: 'job.settled' }])
      expect((await on.json<Page>('webhooks', 'deliveries', '--job', job)).items).toHaveLength(1)
      expect((await on.json<Page>('webhooks', 'deliveries', id, '--status', 'delivered')).items).toEqual([])
      expect((await on.pawl('webhooks', 'deliveries', id)).stdout).toMatch(/^ID +STATUS +EVENT +JOB +TRIES/)
      expect((await on.pawl('webhooks', 'replay', String(page.items[0]?.delivery_id))).exitCode).toBe(5)
      expect(await on.json('webhooks', 'replay', id, '--status', 'FAILED')).toEqual({ count: 0 })
    })

    test('have secrets that are rotated, and one for the --webhook-url of jobs', async () => {
      const on = await openTarget(kind)
      const { webhook_id: id, secret } = await on.json<{ webhook_id: string; secret: string }>(
        'webhooks',
        'create',
        URL,
      )
      const rotated = await on.json<{ secret: string }>('webhooks', 'rotate', id)
      expect(rotated.secret).not.toBe(secret)
      const first = await on.pawl('webhooks', 'secret')
      expect(first.stdout).toMatch(/^whsec_\S+\n$/)
      expect((await on.pawl('webhooks', 'secret')).stdout).toBe(first.stdout)
      expect((await on.pawl('webhooks', 'rotate')).stdout).toContain('The one before signs too until ')
      expect((await on.pawl('webhooks', 'secret')).stdout).not.toBe(first.stdout)
    })

    test.each([
      [['create', 'nonsense'], 2],
      [['create', 'http://169.254.169.254/latest'], 2],
      [['create', URL, '--event', 'job.exploded'], 2],
      [['change', NOBODY], 2],
      [['change', NOBODY, '--enable', '--disable'], 2],
      [['change', NOBODY, '--enable'], 4],
      [['deliveries', NOBODY], 4],
      [['deliveries', NOBODY, '--job', NOBODY], 2],
      [['replay', NOBODY], 4],
      [['replay', NOBODY, '--since', '2026-01-01T00:00:00Z'], 2],
      [['replay', NOBODY, '--status', 'FAILED'], 4],
      [['rotate', NOBODY], 4],
      [['remove', NOBODY], 4],
    ] as const)('%j exits with %i', async (argv, code) => {
      const on = await openTarget(kind)
      const { exitCode, stderr } = await on.pawl('webhooks', ...argv)
      expect(exitCode).toBe(code)
      expect(stderr).toMatch(/^error: /)
    })
  })
})
