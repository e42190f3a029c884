import { expect, test, vi } from 'vitest'
import { gate, inBrowser, loaded, openStage, violations } from './dashboard-stage.ts'

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
    await page.getByRole('link', { name: 'second' }).waitFor()
    expect(await page.locator('[data-row]').count()).toBe(1)
    expect(page.url()).toContain('tab=failed')
    await page.getByRole('navigation', { name: 'By state' }).getByText('All').click()

    await page.keyboard.press('/')
    await page.keyboard.type('tag:blue')
    await page.keyboard.press('Enter')
    await page.locator('.token').waitFor()
    await vi.waitFor(async () => expect(await page.locator('[data-row]').count()).toBe(1), PATIENCE)
    expect(page.url()).toContain('tag=blue')

    await page.reload()
    await page.locator(`[data-row="${done.job_id}"]`).waitFor()
    expect(await page.locator('[data-row]').count()).toBe(1)
    await page.getByRole('button', { name: 'Remove tag: blue' }).click()
    await page.locator('[data-row]').nth(1).waitFor()
    expect(violations).toEqual([])
  })

  test('appear within a second and a half of being accepted, but not while rows are selected', async () => {
    const stage = await openStage({ isStarted: false })
    const first = await stage.client.jobs.enqueue({ type: 'echo', name: 'early', params: {} })
    const page = await stage.open('/jobs?tab=queued')
    await page.getByRole('link', { name: 'early' }).waitFor()
    await stage.client.jobs.enqueue({ type: 'echo', name: 'later', params: {} })
    await page.getByRole('link', { name: 'later' }).waitFor({ timeout: 1_500 })

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
    expect(page.url()).toContain(`/jobs/${jobs[0]?.job_id}`)
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

  test('are cancelled, aborted, retried and run again, and the store says so', async () => {
    const stage = await openStage()
    const failed = await stage.client.jobs.enqueue({ type: 'fails', name: 'broken', params: { message: 'no luck' } })
    const running = await stage.client.jobs.enqueue({ type: 'gated', name: 'at the gate', params: {} })
    const queued = await stage.client.jobs.enqueue({
      type: 'echo',
      name: 'never',
      params: { n: 1 },
      run_at: '2099-01-01T00:00:00Z',
    })
    const page = await stage.open(`/jobs/${queued.job_id}`)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByLabel('Reason').fill('not needed')
    await page.getByRole('button', { name: 'Cancel the job' }).click()
    await page.locator('.badge', { hasText: 'Cancelled' }).first().waitFor()
    expect(await stage.client.jobs.get(queued.job_id)).toMatchObject({
      status: 'CANCELLED',
      cancel_reason: 'not needed',
    })

    await page.getByRole('button', { name: 'Run again' }).click()
    await page.getByLabel('Params (JSON)').fill('{ "n": 98765432109876543210 }')
    await page.getByRole('button', { name: 'Enqueue' }).click()
    await page.waitForURL((url) => !url.pathname.includes(queued.job_id))
    const again = page.url().split('/').at(-1) ?? ''
    expect(await stage.client.jobs.get(again)).toMatchObject({ job_type: 'echo', name: 'never', retry_of: null })

    await page.goto(`${stage.server.url}/jobs/${running.job_id}`)
    await page.getByText('two of five').first().waitFor()
    await page.getByText('waiting at the gate').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByLabel('It runs now').selectOption('abort')
    await page.getByRole('button', { name: 'Cancel the job' }).click()
    await page.locator('.badge', { hasText: 'Cancelled' }).first().waitFor()
    expect(await stage.client.jobs.get(running.job_id)).toMatchObject({ status: 'CANCELLED' })

    await page.goto(`${stage.server.url}/jobs/${failed.job_id}`)
    await page.getByRole('region', { name: 'error', exact: true }).getByText('no luck').waitFor()
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click()
    await page.waitForURL((url) => !url.pathname.includes(failed.job_id))
    const { items } = await stage.client.jobs.chain(failed.job_id)
    expect(items.map(({ attempt }) => attempt)).toEqual([1, 2])
    gate.current.open()
    expect(violations).toEqual([])
  })
})
