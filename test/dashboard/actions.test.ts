import { expect, test, vi } from 'vitest'
import { Gate, gate, inBrowser, openStage } from './dashboard-stage.ts'

const PATIENCE = { timeout: 15_000, interval: 20 }

/** The day on which Vienna changes its clocks, in the next such month. */
function nextLastSunday(month: number): number {
  const now = new Date()
  const isOver = now.getUTCMonth() + 1 >= month
  const last = new Date(Date.UTC(now.getUTCFullYear() + (isOver ? 1 : 0), month - 1, 31))
  return 31 - last.getUTCDay()
}

inBrowser('what the dashboard does', () => {
  test('makes, previews, edits, triggers, disables and removes a schedule', async () => {
    const stage = await openStage()
    const page = await stage.open('/schedules')
    await page.getByText('pawl schedules create').waitFor()
    await page.getByRole('button', { name: 'New schedule' }).click()
    await page.getByLabel('Name').fill('spring')
    await page.getByLabel('Makes jobs of').selectOption('type:echo')
    await page.getByLabel('Cron').fill('30 2 * * *')
    await page.getByLabel('Zone').fill('Europe/Vienna')
    await page.locator('[data-preview]').getByText('At 02:30, every day').waitFor()
    await vi.waitFor(async () => expect(await page.locator('[data-preview] .slots li').count()).toBe(6), PATIENCE)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('link', { name: 'spring' }).click()
    await page.getByRole('heading', { name: 'spring' }).waitFor()
    const [schedule] = (await stage.client.schedules.list({})).items
    const id = schedule?.schedule_id ?? ''
    expect(schedule).toMatchObject({ name: 'spring', type: 'echo', cron: '30 2 * * *', timezone: 'Europe/Vienna' })

    await page.getByRole('button', { name: 'Trigger now' }).click()
    await vi.waitFor(async () => {
      const { items } = await stage.client.jobs.list({ schedule_id: id })
      expect(items).toMatchObject([{ outcome: 'COMPLETED' }])
    }, PATIENCE)
    await page.locator('.strip a.good').waitFor()

    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Cron').fill('not cron')
    await page.locator('[data-preview] .tone-bad').waitFor()
    await page.getByLabel('Cron').fill('0 6 * * 1-5')
    await page.getByLabel('While the previous job').selectOption('skip')
    await page.getByRole('button', { name: 'Save' }).click()
    // The dialog, too, says what it would be.
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByText('At 06:00, on weekdays').first().waitFor()
    expect(await stage.client.schedules.get(id)).toMatchObject({ cron: '0 6 * * 1-5', overlap: 'skip' })

    await page.getByRole('button', { name: 'Disable' }).click()
    await page.locator('.badge', { hasText: 'Disabled' }).waitFor()
    expect(await stage.client.schedules.get(id)).toMatchObject({ enabled: false })
    await page.getByRole('button', { name: 'Enable' }).click()
    await page.locator('.badge', { hasText: /^On$/ }).waitFor()
    expect(await stage.client.schedules.get(id)).toMatchObject({ enabled: true })
    await page.getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('No schedules yet').waitFor()
    expect((await stage.client.schedules.list({})).items).toEqual([])
  })

  test('says before it is stored what the change of clocks does to a slot', async () => {
    const stage = await openStage()
    const page = await stage.open('/schedules')
    await page.getByRole('button', { name: 'New schedule' }).click()
    await page.getByLabel('Zone').fill('Europe/Vienna')
    for (const [month, words] of [
      [3, 'set forward over this time'],
      [10, 'shows this time twice'],
    ] as const) {
      await page.getByLabel('Cron').fill(`30 2 ${nextLastSunday(month)} ${month} *`)
      await page.locator('[data-preview] .dst', { hasText: words }).waitFor()
    }
    expect((await stage.client.schedules.list({})).items).toEqual([])
  })

  test('acts on schedules in their list, and shows how their jobs have gone, with one request', async () => {
    const stage = await openStage()
    const create = (name: string, type: string) => stage.client.schedules.create({ name, type, cron: '0 0 1 1 *' })
    const good = await create('good', 'echo')
    await create('bad', 'fails')
    const page = await stage.open('/schedules')
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    for (const name of ['good', 'bad'])
      await page.getByRole('row', { name }).getByRole('button', { name: 'Trigger' }).click()
    await page.getByRole('row', { name: 'good' }).locator('.strip a.good').waitFor()
    await page.getByRole('row', { name: 'bad' }).locator('.strip a.bad').waitFor()
    expect(new Set(asked.filter((path) => !path.endsWith('/trigger')))).toEqual(new Set(['/api/schedules']))
    await page.getByRole('row', { name: 'good' }).getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('row', { name: 'good' }).locator('.badge', { hasText: 'Disabled' }).waitFor()
    expect(await stage.client.schedules.get(good.schedule_id)).toMatchObject({ enabled: false })
    await page.getByRole('row', { name: 'good' }).locator('.strip a.good').click()
    await page.getByRole('heading', { name: 'good' }).waitFor()
    await page.waitForURL('**/jobs/*')
  })

  test('makes, edits, enqueues and archives a template', async () => {
    const stage = await openStage()
    const page = await stage.open('/templates')
    await page.getByRole('button', { name: 'New template' }).click()
    await page.getByLabel('Name').fill('greeting')
    await page.getByLabel('Job type').selectOption('echo')
    await page.getByLabel('Default params (JSON)').fill('{ "who": ')
    await page.getByText('This is not JSON').waitFor()
    await page.getByLabel('Default params (JSON)').fill('{ "who": "you" }')
    await page.getByRole('button', { name: 'Save' }).click()
    const row = page.getByRole('row', { name: /greeting/ })
    await row.getByRole('button', { name: 'Enqueue' }).click()
    await vi.waitFor(async () => {
      expect((await stage.client.jobs.list({})).items).toMatchObject([{ params: { who: 'you' } }])
    }, PATIENCE)
    await row.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Description').fill('says hello')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('says hello').waitFor()
    await row.getByRole('button', { name: 'Archive' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Archive' }).click()
    await page.getByText('No templates yet').waitFor()
    await page.getByLabel('Also archived').check()
    await page.locator('.badge', { hasText: 'Archived' }).waitFor()
    expect((await stage.client.templates.list({ state: 'archived' })).items).toMatchObject([
      { description: 'says hello' },
    ])
  })

  test('shows a group as a graph and cancels it', async () => {
    const stage = await openStage()
    const group = await stage.client.groups.create({
      name: 'batch',
      mode: 'sequential',
      jobs: [
        { type: 'gated', name: 'first' },
        { type: 'echo', name: 'second' },
      ],
    })
    const page = await stage.open(`/groups/${group.group_id}`)
    await page.locator('.graph .edge').waitFor({ state: 'attached' })
    await page.locator('.graph').getByText('first').waitFor()
    await page.getByRole('button', { name: 'Cancel the group' }).click()
    await page.getByLabel('Jobs that run').selectOption('abort')
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the group' }).click()
    await page.locator('.badge', { hasText: 'Cancelled' }).first().waitFor()
    await vi.waitFor(
      async () =>
        expect(await stage.client.groups.get(group.group_id)).toMatchObject({
          status: 'CANCELLED',
          counts: { cancelled: 2 },
        }),
      PATIENCE,
    )
  })

  test('runs a type directly, and shows its result and its failure', async () => {
    const stage = await openStage()
    const page = await stage.open('/direct?type=echo')
    await page.getByLabel('Params (JSON)').fill('{ "loud": true }')
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.locator('[data-outcome="done"]').getByText('"loud"').waitFor()
    await page.getByLabel('Type', { exact: true }).selectOption('fails')
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.locator('[data-outcome="failed"]').getByText('direct_failed').waitFor()
    const { items } = await stage.client.reservations.list({})
    expect(items.map(({ job_type, outcome }) => [job_type, outcome])).toEqual([
      ['fails', 'FAILED'],
      ['echo', 'COMPLETED'],
    ])
    await page.locator('[data-row]').nth(1).waitFor()
  })

  test('shows a direct run wait for a place, and then run', async () => {
    const stage = await openStage({ scheduler: { concurrency: 1 } })
    const before = await stage.client.jobs.enqueue({ type: 'gated', params: {} })
    await vi.waitFor(async () => expect((await stage.client.jobs.get(before.job_id)).status).toBe('RUNNING'), PATIENCE)
    const page = await stage.open('/direct?type=gated')
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.locator('[data-waits="true"] .badge', { hasText: 'Waiting' }).waitFor()
    const first = gate.current
    gate.current = new Gate()
    first.open()
    await page.locator('[data-waits="false"] .badge', { hasText: 'Running' }).waitFor()
    expect((await stage.client.reservations.list({})).items).toMatchObject([{ job_type: 'gated', outcome: null }])
    gate.current.open()
    await page.locator('[data-outcome="done"]').getByText('through').waitFor()
  })

  test('stops this node from taking jobs, and lets it take them again', async () => {
    const stage = await openStage()
    const page = await stage.open('/nodes')
    await page.getByRole('button', { name: 'Stop taking jobs here' }).click()
    await page.locator('.badge', { hasText: 'Stopped' }).waitFor()
    const job = await stage.client.jobs.enqueue({ type: 'echo', params: {} })
    expect(await stage.client.nodes.list({})).toMatchObject({ items: [{ claims: false }] })
    await page.getByRole('button', { name: 'Take jobs here' }).click()
    await page.locator('.badge', { hasText: 'Takes jobs' }).waitFor()
    await vi.waitFor(async () => expect((await stage.client.jobs.get(job.job_id)).outcome).toBe('COMPLETED'), PATIENCE)
  })

  test('searches the audit when a filter is done, not at every key', async () => {
    const stage = await openStage()
    const job = await stage.client.jobs.enqueue({ type: 'echo', params: {} })
    await stage.client.templates.create({ name: 'other', job_type: 'echo' })
    const page = await stage.open('/audit')
    await page.getByRole('row', { name: /template.create/ }).waitFor()
    const asked: string[] = []
    page.on('request', (request) => {
      if (request.url().includes('subject=')) asked.push(new URL(request.url()).searchParams.get('subject') ?? '')
    })
    await page.getByLabel('Subject').pressSequentially(job.job_id)
    await page.keyboard.press('Enter')
    await page.getByRole('row', { name: /template.create/ }).waitFor({ state: 'detached' })
    await page.getByRole('row', { name: /job.enqueue/ }).waitFor()
    expect(new Set(asked)).toEqual(new Set([job.job_id]))
    await page.waitForURL(`**subject=${job.job_id}*`)
    await page.getByLabel('Actor').fill('nobody')
    await page.getByLabel('Actor').blur()
    await page.locator('[data-empty="nothing-matches"]').waitFor()
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await page.getByRole('row', { name: /template.create/ }).waitFor()
  })

  test('makes a form of the params of a type', async () => {
    const stage = await openStage()
    const page = await stage.open('/direct?type=typed')
    const form = page.getByRole('form', { name: 'Run a type now' })
    await form.getByLabel('name').fill('Ada')
    await form.getByLabel('count').fill('many')
    await form.getByText('Expected a number').waitFor()
    expect(await form.getByRole('button', { name: 'Run', exact: true }).isDisabled()).toBe(true)
    await form.getByLabel('count').fill('7')
    await form.getByLabel('loud').check()
    await form.getByLabel('mode').selectOption('slow')
    await form.getByRole('button', { name: 'Run', exact: true }).click()
    await page.locator('[data-outcome="done"]').getByText('"greeted"').waitFor()
    const [reservation] = (await stage.client.reservations.list({})).items
    expect(reservation?.params).toEqual({ name: 'Ada', count: 7, loud: true, mode: 'slow' })
  })
})
