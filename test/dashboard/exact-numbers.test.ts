// The page sends a number as it was typed, and the server refuses one that a double would change: never is another one stored.
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { inBrowser, openStage } from './dashboard-stage.ts'

const LARGE = '12345678901234567890'

/** The dialog stays, with what was typed, and says in words what to do. */
async function isRefused(page: Page, submit: string, path: string): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: submit, exact: true }).click()
  const words = await dialog.getByRole('alert').innerText()
  expect(words).toContain(`Expected \`${path}\` to be a number that a double keeps exactly, got \`${LARGE}\``)
  expect(words).toContain(`Send it as text: \`"${LARGE}"\``)
}

inBrowser('a number that would not be kept exactly is refused in words, and nothing is made or changed', () => {
  test('by "Run again", which takes it as text', async () => {
    const stage = await openStage({ isStarted: false })
    const { job_id } = await stage.client.jobs.enqueue({ type: 'echo', params: { customer: { id: 7 } } })
    const page = await stage.open(`/jobs/${job_id}`)
    await page.getByRole('button', { name: 'Run again' }).click()
    const params = page.getByRole('dialog').getByLabel('Params (JSON)')
    await params.fill(`{ "customer": { "id": ${LARGE} } }`)
    await isRefused(page, 'Enqueue', 'params.customer.id')
    expect(await params.inputValue()).toContain(LARGE)
    expect((await stage.client.jobs.list({})).items).toHaveLength(1)

    await params.fill(`{ "customer": { "id": "${LARGE}" } }`)
    await page.getByRole('dialog').getByRole('button', { name: 'Enqueue' }).click()
    await page.getByRole('region', { name: 'params', exact: true }).getByText(LARGE).waitFor()
    expect((await stage.client.jobs.list({})).items).toMatchObject([
      { params: { customer: { id: LARGE } } },
      { job_id },
    ])
  })

  test('by "New job", as JSON and as a field', async () => {
    const stage = await openStage({ isStarted: false })
    const page = await stage.open('/jobs')
    await page.getByRole('button', { name: 'New job' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Type').selectOption('echo')
    await dialog.getByLabel('Params (JSON)').fill(`{ "n": ${LARGE} }`)
    await isRefused(page, 'Enqueue', 'params.n')
    await dialog.getByLabel('Type').selectOption('typed')
    await dialog.getByLabel('name *').fill('Ada')
    await dialog.getByLabel('count').fill(LARGE)
    await isRefused(page, 'Enqueue', 'params.count')
    // The way to JSON and back keeps it too.
    await dialog.getByRole('button', { name: 'As JSON' }).click()
    expect(await dialog.getByLabel('Params (JSON)').inputValue()).toContain(`"count": ${LARGE}`)
    await isRefused(page, 'Enqueue', 'params.count')
    expect((await stage.client.jobs.list({})).items).toEqual([])
  })

  test('by "Edit" of a queued job', async () => {
    const stage = await openStage({ isStarted: false })
    const { job_id } = await stage.client.jobs.enqueue({ type: 'echo', params: { n: 1 } })
    const page = await stage.open(`/jobs/${job_id}`)
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByRole('dialog').getByLabel('Params (JSON)').fill(`{ "n": ${LARGE} }`)
    await isRefused(page, 'Save', 'params.n')
    expect(await stage.client.jobs.get(job_id)).toMatchObject({ params: { n: 1 } })
  })
})
