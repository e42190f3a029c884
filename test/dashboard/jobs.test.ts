import { expect, test, vi } from 'vitest'
import { defineJob } from '../../src/library/define-job.ts'
import { inBrowser, loaded, openStage, violations } from './dashboard-stage.ts'

const PATIENCE = { timeout: 15_000, interval: 20 }

inBrowser('jobs in the dashboard', () => {
  test('are listed by state, searched by tokens, and all of it is in the address', async () => {
    const stage = await openStage()
    const done = await stage.client.jobs.enqueue({ type: 'echo', name: 'first', params: { a: 1 }, tags: ['blue'] })
    await stage.client.jobs.enqueue({ type: 'fails', name: 'second', params: {} })
    await vi.waitFor(async () => {
      const { items } = await stage.client.jobs.list({ status: 'FINISHED' })
      expect(items).toHaveLength(2)
    }, PATIENCE)
    const page = await stage.open('/jobs')
    await page.locator('[data-row]').nth(1).waitFor()
    await page.getByRole('navigation', { name: 'By state' }).getByText('Failed').click()
    await page.waitForURL('**tab=failed*')
    await page.getByRole('link', { name: 'first' }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'second' }).waitFor()
    await page.getByRole('navigation', { name: 'By state' }).getByText('All').click()

    await page.keyboard.press('/')
    await page.keyboard.type('tag:blue')
    await page.keyboard.press('Enter')
    await page.locator('.token').waitFor()
    await vi.waitFor(async () => expect(await page.locator('[data-row]').count()).toBe(1), PATIENCE)
    await page.waitForURL('**tag=blue*')

    await page.reload()
    await page.locator(`[data-row="${done.job_id}"]`).waitFor()
    expect(await page.locator('[data-row]').count()).toBe(1)
    await page.getByRole('button', { name: 'Remove tag: blue' }).click()
    await page.locator('[data-row]').nth(1).waitFor()
    expect(violations).toEqual([])
  })

  test('are not moved by what is new while rows are selected', async () => {
    const stage = await openStage({ isStarted: false })
    const first = await stage.client.jobs.enqueue({ type: 'echo', name: 'early', params: {} })
    const page = await stage.open('/jobs?tab=queued')
    await page.getByRole('link', { name: 'early' }).waitFor()
    await page.locator(`[data-row="${first.job_id}"]`).getByRole('checkbox').check()
    await page.locator('.live[data-state="paused"]').waitFor()
    await stage.client.jobs.enqueue({ type: 'echo', name: 'held back', params: {} })
    await page.getByText('1 new').waitFor()
    expect(await page.getByRole('link', { name: 'held back' }).count()).toBe(0)
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'held back' }).waitFor()
    await page.locator('.live[data-state="live"]').waitFor()
  })

  test('are reached, opened and moved by keyboard, and moved by dragging', async () => {
    const stage = await openStage({ isStarted: false })
    const jobs = []
    for (const name of ['one', 'two', 'three'])
      jobs.push(await stage.client.jobs.enqueue({ type: 'echo', name, params: {} }))
    const order = async () => (await stage.client.jobs.list({ status: 'QUEUED' })).items.map(({ name }) => name)
    const page = await stage.open('/')
    await loaded(page)
    await page.keyboard.press('g')
    await page.keyboard.press('j')
    await page.getByRole('heading', { name: 'Jobs' }).waitFor()
    await page.getByRole('navigation', { name: 'By state' }).getByText('Queued').click()
    await page.locator('[data-row]').nth(2).waitFor()
    await page.getByRole('heading', { name: 'Jobs' }).click()
    await page.keyboard.press('j')
    await page.keyboard.press('J')
    await vi.waitFor(async () => expect(await order()).toEqual(['two', 'one', 'three']), PATIENCE)

    const grip = page.locator(`[data-row="${jobs[2]?.job_id}"] .grip button`)
    await grip.focus()
    await page.keyboard.press('ArrowUp')
    await vi.waitFor(async () => expect(await order()).toEqual(['two', 'three', 'one']), PATIENCE)
    await vi.waitFor(
      async () => expect(await page.locator('[data-row]').nth(1).innerText()).toContain('three'),
      PATIENCE,
    )

    await page
      .locator(`[data-row="${jobs[0]?.job_id}"] .grip button`)
      .dragTo(page.locator(`[data-row="${jobs[1]?.job_id}"]`))
    await vi.waitFor(async () => expect(await order()).toEqual(['one', 'two', 'three']), PATIENCE)

    await page.keyboard.press('?')
    await page.getByRole('dialog').getByText('Next row').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('Control+k')
    await page.locator('.palette input:focus').waitFor()
    await page.keyboard.type(jobs[0]?.job_id ?? '')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'one' }).waitFor()
    await page.waitForURL(`**/jobs/${jobs[0]?.job_id}`)
  })

  test('are made by hand, with a form of their params', async () => {
    const stage = await openStage({ isStarted: false })
    const page = await stage.open('/jobs')
    await page.getByRole('button', { name: 'New job' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Type').selectOption('typed')
    await dialog.getByLabel('name', { exact: false }).nth(1).fill('Ada')
    await dialog.getByLabel('count').fill('3')
    await dialog.getByLabel('Tags').fill('by hand, vip')
    await dialog.getByLabel('Priority').fill('5')
    await dialog.getByLabel('Not before').fill('2098-05-06T07:08')
    await dialog.getByRole('button', { name: 'As JSON' }).click()
    expect(JSON.parse(await dialog.getByLabel('Params (JSON)').inputValue())).toEqual({ name: 'Ada', count: 3 })
    await dialog.getByLabel('Params (JSON)').fill('{ "name": "Grace", "count": 4 }')
    await dialog.getByRole('button', { name: 'Enqueue' }).click()
    await page.locator('[data-row]').waitFor()
    expect((await stage.client.jobs.list({})).items).toMatchObject([
      {
        job_type: 'typed',
        params: { name: 'Grace', count: 4 },
        tags: ['by hand', 'vip'],
        priority: 5,
        run_at: new Date('2098-05-06T07:08').toISOString(),
      },
    ])
  })

  test('are made of what was typed, be it typed in the moment in which the type was chosen', async () => {
    const stage = await openStage({ isStarted: false })
    const page = await stage.open('/jobs')
    await page.getByRole('button', { name: 'New job' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Type').selectOption('echo')
    await dialog.getByLabel('Params (JSON)').waitFor()
    // Drawn, but before a frame is shown.
    await page.evaluate(`(async () => {
      const dialog = document.querySelector('dialog')
      const select = dialog.querySelector('select')
      select.value = 'typed'
      select.dispatchEvent(new Event('change', { bubbles: true }))
      const label = () => [...dialog.querySelectorAll('label')].find((one) => one.textContent === 'name *')
      for (let turn = 0; turn < 100 && !label(); turn++) await Promise.resolve()
      const input = document.getElementById(label().htmlFor)
      input.value = 'Ada'
      input.dispatchEvent(new Event('input', { bubbles: true }))
    })()`)
    await dialog.getByLabel('count').fill('3')
    await dialog.getByRole('button', { name: 'Enqueue' }).click()
    await vi.waitFor(async () => {
      expect((await stage.client.jobs.list({})).items).toMatchObject([{ params: { name: 'Ada', count: 3 } }])
    }, PATIENCE)
  })

  test('keep the columns that were chosen, here and in a link', async () => {
    const stage = await openStage({ isStarted: false })
    await stage.client.jobs.enqueue({ type: 'echo', name: 'only', params: {}, priority: 4 })
    const page = await stage.open('/jobs')
    const heads = async () => (await page.locator('thead th').allInnerTexts()).filter(Boolean)
    await page.locator('[data-row]').waitFor()
    expect(await heads()).toEqual(['Job', 'State', 'Attempt', 'Tags', 'Accepted', 'Waited', 'Ran'])
    await page.getByText('Columns', { exact: true }).click()
    await page.getByLabel('Priority').check()
    for (const name of ['Tags', 'Waited', 'Ran']) await page.getByLabel(name).uncheck()
    const chosen = ['Job', 'State', 'Attempt', 'Priority', 'Accepted']
    await vi.waitFor(async () => expect(await heads()).toEqual(chosen), PATIENCE)
    await page.keyboard.press('Escape')
    await page.getByLabel('Tags').waitFor({ state: 'hidden' })
    const link = page.url()
    await page.goto(new URL('/jobs', stage.server.url).href)
    await page.locator('[data-row]').waitFor()
    expect(await heads()).toEqual(chosen)
    // Somebody else, who never chose any, sees the same by the link.
    const other = await stage.open(new URL(link).pathname + new URL(link).search)
    await other.locator('[data-row]').waitFor()
    expect((await other.locator('thead th').allInnerTexts()).filter(Boolean)).toEqual(chosen)
  })

  test('are searched by names: what is typed is completed', async () => {
    const stage = await openStage()
    const template = await stage.client.templates.create({ name: 'greeting', job_type: 'echo' })
    const schedule = await stage.client.schedules.create({ name: 'nightly', type: 'echo', cron: '0 0 1 1 *' })
    const group = await stage.client.groups.create({ name: 'batch', jobs: [{ type: 'echo', name: 'in a group' }] })
    await stage.client.jobs.enqueue({ template_id: template.template_id, name: 'of a template', tags: ['purple'] })
    await stage.client.schedules.trigger(schedule.schedule_id)
    const page = await stage.open('/jobs')
    await page.locator('[data-row]').nth(2).waitFor()
    const ids = { template: template.template_id, schedule: schedule.schedule_id, group: group.group_id }
    for (const [kind, name] of [
      ['template', 'greeting'],
      ['schedule', 'nightly'],
      ['group', 'batch'],
    ] as const) {
      await page.keyboard.press('/')
      await page.keyboard.type(`${kind}:${name.slice(0, 3).toUpperCase()}`)
      await page.getByRole('option', { name: `${kind}:${name}` }).waitFor()
      await page.keyboard.press('Enter')
      await page.locator('.token', { hasText: `${kind}: ${name}` }).waitFor()
      await page.waitForURL(`**${kind}_id=${ids[kind]}*`)
      await vi.waitFor(async () => expect(await page.locator('[data-row]').count()).toBe(1), PATIENCE)
      await page.keyboard.press('Backspace')
      await page.locator('[data-row]').nth(2).waitFor()
      await page.keyboard.press('Escape')
    }
    await page.keyboard.press('/')
    await page.keyboard.type('tag:pur')
    await page.getByRole('option', { name: 'tag:purple' }).click()
    await page.getByRole('link', { name: 'of a template' }).waitFor()
    await page.waitForURL('**tag=purple*')
  })

  test('are searched by params, error and time', async () => {
    const stage = await openStage()
    const { client } = stage
    await client.jobs.enqueue({ type: 'echo', name: 'seven', params: { user: { id: 7 } } })
    await client.jobs.enqueue({ type: 'fails', name: 'timeout', params: { message: 'the timeout of it' } })
    await vi.waitFor(async () => {
      expect((await client.jobs.list({ status: 'FINISHED' })).items).toHaveLength(2)
    }, PATIENCE)
    const page = await stage.open('/jobs')
    await page.locator('[data-row]').nth(1).waitFor()
    for (const [token, found] of [
      ['params.user.id:7', ['seven']],
      ['error:timeout of', ['timeout']],
      ['after:2h', ['seven', 'timeout']],
      ['before:2020-01-01', []],
    ] as const) {
      await page.keyboard.press('/')
      await page.keyboard.type(token)
      await page.keyboard.press('Enter')
      await page.locator('.token').waitFor()
      await vi.waitFor(async () => {
        const names = await page.locator('[data-row] .lead a').allInnerTexts()
        expect(names.toSorted()).toEqual(found)
      }, PATIENCE)
      await page.keyboard.press('Backspace')
      await page.locator('[data-row]').nth(1).waitFor()
      await page.keyboard.press('Escape')
    }
    await page.keyboard.press('/')
    await page.keyboard.type('colour:blue')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('Nothing can be searched by "colour"').waitFor()
  })

  test('that failed alike are found from the overview, all of them, and charts tell of each minute', async () => {
    const stage = await openStage()
    for (const code of [502, 503, 504])
      await stage.client.jobs.enqueue({ type: 'fails', params: { message: `upstream answered ${code} at last` } })
    await vi.waitFor(async () => expect((await stage.client.statistics()).totals.failed).toBe(3), PATIENCE)
    const page = await stage.open('/')
    await page.getByRole('img', { name: /Runs of the last hour, by the minute: 3 in all, 3 failed/ }).waitFor()
    await page.getByRole('button', { name: 'Day' }).click()
    await page.getByRole('img', { name: /Runs of the last day, by the hour: 3 in all, 3 failed/ }).waitFor()
    await page.getByRole('link', { name: '× 3' }).click()
    await page.locator('[data-row]').nth(2).waitFor()
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
      tab: 'failed',
      type: 'fails',
      error: 'upstream answered',
    })
  })

  test('stand at 360 px with grip, tick, name and state in one line each', async () => {
    const stage = await openStage({ isStarted: false })
    await stage.client.jobs.enqueue({ type: 'echo', name: 'narrow', params: {} })
    const page = await stage.open('/jobs?tab=queued', { viewport: { width: 360, height: 740 } })
    const row = page.locator('[data-row]')
    const parts = [row.getByRole('button', { name: /^Move/ }), row.getByRole('checkbox'), row.getByRole('link')]
    const boxes = await Promise.all([...parts, row.locator('.badge')].map((part) => part.first().boundingBox()))
    const [first] = boxes
    for (const [index, box] of boxes.entries()) {
      // Each begins behind the one before, and at the height of the first.
      if (index > 0) expect(box?.x).toBeGreaterThanOrEqual((boxes[index - 1]?.x ?? 0) + 10)
      expect(box?.y).toBeLessThan((first?.y ?? 0) + (first?.height ?? 0))
    }
    expect(boxes[2]?.x).toBeLessThan(120)
    // Nothing is left of it that would have to be scrolled to.
    const widths = await page
      .locator('.table')
      .evaluate((table) => [table.scrollWidth, table.parentElement?.scrollWidth])
    for (const width of widths) expect(width).toBeLessThanOrEqual(360)
  })

  test('are searched by just the type that was typed, known or not; and a name that nothing has is said to be so', async () => {
    const types = ['data.import', 'import'].map((type) => defineJob({ type, run: () => null }))
    const stage = await openStage({ isStarted: false, scheduler: { jobs: types } })
    const page = await stage.open('/jobs')
    const search = page.getByLabel('Search jobs')
    const searchFor = async (text: string) => {
      await search.fill(text)
      await page.getByRole('option').first().waitFor()
      await search.press('Enter')
    }
    const isAskedFor = (type: string) =>
      vi.waitFor(() => expect(new URL(page.url()).searchParams.get('type')).toBe(type), PATIENCE)
    await searchFor('type:import')
    await isAskedFor('import')
    await searchFor('type:of.the.past')
    await isAskedFor('of.the.past')
    await search.fill('schedule:nobody')
    await search.press('Enter')
    await page.getByRole('alert').getByText('No schedule has such a name: "nobody"').waitFor()
  })

  test('are found far back with one click, page by page', async () => {
    const stage = await openStage({ isStarted: false })
    await stage.client.jobs.enqueue({ type: 'echo', name: 'the first', params: { n: 'wanted' } })
    await stage.scheduler.enqueueMany(Array.from({ length: 6_500 }, (_, n) => ({ type: 'echo', params: { n } })))
    const page = await stage.open('/jobs?params_path=n&params_value=wanted')
    await page.locator('[data-empty="window-limited"]').waitFor()
    await page.getByRole('button', { name: 'Search further back' }).click()
    await page.getByRole('link', { name: 'the first' }).waitFor()
    await page.waitForURL('**cursor=*')
  })

  test('are searched by a date of the zone of who looks', async () => {
    const stage = await openStage({ isStarted: false })
    const page = await stage.open('/jobs', { timezoneId: 'America/New_York' })
    await page.getByLabel('Search jobs').fill('before:2026-11-16')
    await page.keyboard.press('Enter')
    await vi.waitFor(() => {
      expect(new URL(page.url()).searchParams.get('created_before')).toBe('2026-11-16T05:00:00.000Z')
    }, PATIENCE)
  })

  test('say why they do not run', async () => {
    const stage = await openStage()
    const late = await stage.client.jobs.enqueue({
      type: 'echo',
      name: 'late',
      params: {},
      run_at: '2099-01-01T00:00:00Z',
    })
    const page = await stage.open(`/jobs/${late.job_id}`)
    await page.locator('[data-why] time[datetime^="2099-01-01"]').first().waitFor()
    expect(await page.getByRole('button', { name: 'Retry' }).count()).toBe(0)
  })
})
