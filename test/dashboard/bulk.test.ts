import { expect, test, vi } from 'vitest'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { FarSource } from '../engine/far-store.ts'
import { newDatabasePath } from '../lifecycle/stage.ts'
import { inBrowser, openStage, violations } from './dashboard-stage.ts'

const PATIENCE = { timeout: 15_000, interval: 20 }

inBrowser('many jobs at once in the dashboard', () => {
  test('are chosen by keyboard, counted first, and cancelled only when that is confirmed', async () => {
    const stage = await openStage({ isStarted: false })
    for (const name of ['one', 'two', 'three']) await stage.client.jobs.enqueue({ type: 'echo', name, params: {} })
    const page = await stage.open('/jobs?tab=queued')
    await page.locator('[data-row]').nth(2).waitFor()
    for (const key of ['j', 'x', 'j', 'x']) await page.keyboard.press(key)
    await page.getByText('2 selected').waitFor()
    await page.getByRole('region', { name: 'Selected jobs' }).getByRole('button', { name: 'Cancel' }).click()
    await page.locator('[data-dry-run]').getByText('2 jobs').waitFor()
    expect((await stage.client.jobs.list({ status: 'CANCELLED' })).items).toEqual([])
    await page.getByLabel('Reason').fill('a mistake')
    await page.getByRole('button', { name: 'Cancel 2 jobs' }).click()
    await vi.waitFor(async () => {
      const { items } = await stage.client.jobs.list({ status: 'CANCELLED' })
      expect(new Set(items.map(({ name, cancel_reason: reason }) => `${name}: ${reason}`))).toEqual(
        new Set(['one: a mistake', 'two: a mistake']),
      )
    }, PATIENCE)
    await vi.waitFor(async () => expect(await page.locator('[data-row]').count()).toBe(1), PATIENCE)
    await page.getByRole('link', { name: 'Progress' }).click()
    const row = page.getByRole('row', { name: /Cancel/ })
    await row.locator('.badge', { hasText: 'Completed' }).waitFor()
    await row.getByText('2 / 2').waitFor()
  })

  test('are all that match, beyond the page that is shown, and retried', async () => {
    const stage = await openStage()
    await stage.client.jobs.bulk(Array.from({ length: 60 }, () => ({ type: 'fails', params: {}, tags: ['batch'] })))
    await vi.waitFor(async () => {
      const { failed } = (await stage.client.statistics()).totals
      expect(failed).toBe(60)
    }, PATIENCE)
    const page = await stage.open('/jobs?tab=failed&tag=batch')
    await page.getByRole('checkbox', { name: 'Select all on this page' }).check()
    await page.getByText('50 selected').waitFor()
    await page.getByRole('button', { name: 'Select all that match' }).click()
    await page.getByRole('region', { name: 'Selected jobs' }).getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('button', { name: 'Retry 60 jobs' }).click()
    await vi.waitFor(async () => expect((await stage.client.statistics()).totals.failed).toBe(120), PATIENCE)
    expect(violations).toEqual([])
  })

  test('are all that match until the choice changes: then they are those that are ticked', async () => {
    const stage = await openStage({ isStarted: false })
    await stage.scheduler.enqueueMany(Array.from({ length: 60 }, (_, n) => ({ type: 'echo', params: n })))
    const page = await stage.open('/jobs?tab=queued')
    const selected = page.getByRole('region', { name: 'Selected jobs' })
    const chooseAll = async () => {
      await page.getByRole('checkbox', { name: 'Select all on this page' }).check()
      await selected.getByRole('button', { name: 'Select all that match' }).click()
      await selected.getByText('All that match', { exact: true }).waitFor()
    }
    await chooseAll()
    await page.locator('[data-row] input[type=checkbox]').first().uncheck()
    await selected.getByText('49 selected').waitFor()
    await chooseAll()
    await selected.getByRole('button', { name: 'Clear' }).click()
    await page.locator('[data-row] input[type=checkbox]').first().check()
    await selected.getByText('1 selected').waitFor()
    await selected.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Cancel 1 job', exact: true }).click()
    await vi.waitFor(async () => {
      expect(await stage.client.jobs.counts()).toMatchObject({ queued: 59, cancelled: 1 })
    }, PATIENCE)
  })

  test('are left alone from the moment the operation is aborted', async () => {
    // The store answers the first page only when it is told to, so that the operation is under way for as long as we look.
    const store = new FarSource(sqlite(newDatabasePath()))
    const stage = await openStage({ isStarted: false, scheduler: { store } })
    await stage.scheduler.enqueueMany(Array.from({ length: 3_000 }, (_, n) => ({ type: 'echo', params: n })))
    const page = await stage.open('/operations')
    const held = store.holdAnswers('applyOperationPage')
    await stage.client.operations.start({ kind: 'cancel', filter: { type: 'echo' } })
    await page.getByRole('progressbar').waitFor()
    await page.getByRole('button', { name: 'Abort' }).click()
    await page.locator('.badge', { hasText: 'Aborted' }).waitFor()
    held.letGo()
    const [operation] = (await stage.client.operations.list({})).items
    expect(operation).toMatchObject({ status: 'ABORTED', matched: 3_000 })
    expect(operation?.done).toBeLessThan(3_000)
    const { items } = await stage.client.jobs.list({ status: 'QUEUED' })
    expect(items.length).toBeGreaterThan(0)
  })
})
