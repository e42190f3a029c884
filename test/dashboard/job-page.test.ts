import { expect, test, vi } from 'vitest'
import { defineJob } from '../../src/library/define-job.ts'
import { gate, inBrowser, loaded, openStage, TYPES, violations } from './dashboard-stage.ts'

const PATIENCE = { timeout: 15_000, interval: 20 }
const NEVER = '2099-01-01T00:00:00Z'

/** Prints to both, with colours, and ends with a code that says something. */
const prints = defineJob({
  type: 'prints',
  retry: { maxRetries: 0 },
  command: [
    process.execPath,
    '-e',
    `console.log('\\u001b[32mto stdout\\u001b[0m <b>bold</b>'); console.error('to stderr'); process.exitCode = 3`,
  ],
})

inBrowser('the page of a job', () => {
  test('changes the priority, the params and the time of a queued job', async () => {
    const stage = await openStage({ isStarted: false })
    const job = await stage.client.jobs.enqueue({ type: 'echo', name: 'late', params: { n: 1 }, run_at: NEVER })
    const page = await stage.open(`/jobs/${job.job_id}`)
    await page.getByRole('button', { name: 'Edit' }).click()
    const dialog = page.getByRole('dialog')
    expect(await dialog.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
    await dialog.getByLabel('Params (JSON)').fill('{ "n": ')
    await dialog.getByText('This is not JSON').waitFor()
    await dialog.getByLabel('Params (JSON)').fill('{ "n": 9007199254740991 }')
    await dialog.getByLabel('Priority').fill('7')
    await dialog.getByLabel('Not before').fill('2098-05-06T07:08')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('region', { name: 'params', exact: true }).getByText('9007199254740991').waitFor()
    expect(await stage.client.jobs.get(job.job_id)).toMatchObject({
      priority: 7,
      params: { n: 9_007_199_254_740_991 },
      hold: 'delayed',
      run_at: new Date('2098-05-06T07:08').toISOString(),
    })

    await page.getByRole('button', { name: 'Edit' }).click()
    await dialog.getByLabel('Not before').fill('')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await stage.client.jobs.get(job.job_id)).toMatchObject({ hold: null, priority: 7 })
    // Each change is in its audit, with who made it.
    await vi.waitFor(
      async () => expect(await page.getByRole('region', { name: 'Audit' }).getByText('job.edit').count()).toBe(2),
      PATIENCE,
    )
  })

  test('moves a queued job to the front and to the back', async () => {
    const stage = await openStage({ isStarted: false })
    const ids: string[] = []
    for (const name of ['one', 'two', 'three'])
      ids.push((await stage.client.jobs.enqueue({ type: 'echo', name, params: {} })).job_id)
    const order = async () => (await stage.client.jobs.list({ status: 'QUEUED' })).items.map(({ name }) => name)
    const page = await stage.open(`/jobs/${ids[1]}`)
    await page.getByRole('button', { name: 'To front' }).click()
    await vi.waitFor(async () => expect(await order()).toEqual(['two', 'one', 'three']), PATIENCE)
    await page.getByRole('button', { name: 'To back' }).click()
    await vi.waitFor(async () => expect(await order()).toEqual(['one', 'three', 'two']), PATIENCE)
  })

  test('lets a running job end gracefully, and it is not retried', async () => {
    const stage = await openStage()
    const job = await stage.client.jobs.enqueue({ type: 'gated', name: 'gentle', params: {} })
    const page = await stage.open(`/jobs/${job.job_id}`)
    await page.getByText('two of five').first().waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByLabel('It runs now').selectOption('graceful')
    await page.getByRole('button', { name: 'Cancel the job' }).click()
    await page.locator('.badge', { hasText: 'Cancelling' }).first().waitFor()
    expect(await stage.client.jobs.get(job.job_id)).toMatchObject({ status: 'RUNNING' })
    gate.current.open()
    await page.locator('.page-head .badge', { hasText: 'Completed' }).waitFor()
    expect((await stage.client.jobs.chain(job.job_id)).items).toHaveLength(1)
  })

  test('cancels, aborts, retries and runs again with other params, and the store says so', async () => {
    const stage = await openStage()
    const { client } = stage
    const failed = await client.jobs.enqueue({ type: 'fails', name: 'broken', params: { message: 'no luck' } })
    const running = await client.jobs.enqueue({ type: 'gated', name: 'at the gate', params: {} })
    const queued = await client.jobs.enqueue({ type: 'echo', name: 'never', params: { n: 1 }, run_at: NEVER })
    const page = await stage.open(`/jobs/${queued.job_id}`)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByLabel('Reason').fill('not needed')
    await page.getByRole('button', { name: 'Cancel the job' }).click()
    await page.locator('.badge', { hasText: 'Cancelled' }).first().waitFor()
    expect(await client.jobs.get(queued.job_id)).toMatchObject({ status: 'CANCELLED', cancel_reason: 'not needed' })

    await page.getByRole('button', { name: 'Run again' }).click()
    await page.getByLabel('Params (JSON)').fill('{ "n": 9007199254740991, "price": 1.10 }')
    await page.getByLabel('Priority').fill('3')
    await page.getByRole('button', { name: 'Enqueue' }).click()
    await page.waitForURL((url) => !url.pathname.includes(queued.job_id))
    const again = page.url().split('/').at(-1) ?? ''
    expect(await client.jobs.get(again)).toMatchObject({
      job_type: 'echo',
      name: 'never',
      priority: 3,
      retry_of: null,
      params: { n: 9_007_199_254_740_991, price: 1.1 },
    })

    await page.goto(`${stage.server.url}/jobs/${running.job_id}`)
    await page.getByText('waiting at the gate').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByLabel('It runs now').selectOption('abort')
    await page.getByRole('button', { name: 'Cancel the job' }).click()
    await page.locator('.badge', { hasText: 'Cancelled' }).first().waitFor()
    expect(await client.jobs.get(running.job_id)).toMatchObject({ status: 'CANCELLED' })

    await page.goto(`${stage.server.url}/jobs/${failed.job_id}`)
    await page.getByRole('region', { name: 'error', exact: true }).getByText('no luck').waitFor()
    await page.getByText('Stack', { exact: true }).click()
    await page.getByRole('region', { name: 'stack', exact: true }).getByText('at ').waitFor()
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click()
    await page.waitForURL((url) => !url.pathname.includes(failed.job_id))
    const { items } = await client.jobs.chain(failed.job_id)
    expect(items.map(({ attempt }) => attempt)).toEqual([1, 2])
    expect(violations).toEqual([])
  })

  test('retries what was cancelled because of it too, when asked to', async () => {
    const stage = await openStage()
    const parent = await stage.client.jobs.enqueue({ type: 'fails', name: 'parent', params: {}, run_at: NEVER })
    const child = await stage.client.jobs.enqueue({
      type: 'echo',
      name: 'child',
      params: {},
      depends_on: [parent.job_id],
      on_parent_failure: 'cancel',
    })
    await stage.client.jobs.edit(parent.job_id, { run_at: null })
    await vi.waitFor(async () => expect((await stage.client.jobs.get(child.job_id)).status).toBe('CANCELLED'), PATIENCE)
    await stage.scheduler.stop()
    const page = await stage.open(`/jobs/${parent.job_id}`)
    await page.getByRole('region', { name: 'Dependency graph' }).getByText('child').waitFor()
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByLabel('Also retry the jobs that were cancelled').check()
    await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click()
    await page.waitForURL((url) => !url.pathname.includes(parent.job_id))
    expect((await stage.client.jobs.chain(child.job_id)).items).toHaveLength(2)
  })

  test('shows what a command printed, as text, and its exit code', async () => {
    const stage = await openStage({ scheduler: { jobs: [...TYPES, prints] } })
    const job = await stage.client.jobs.enqueue({ type: 'prints', params: null })
    const page = await stage.open(`/jobs/${job.job_id}`)
    const output = page.getByRole('region', { name: 'output', exact: true })
    await output.getByText('to stderr').waitFor()
    expect((await output.innerText()).split('\n').toSorted().filter(Boolean)).toEqual([
      'to stderr',
      'to stdout <b>bold</b>',
    ])
    await page.locator('.facts', { hasText: 'Exit code' }).getByText('3', { exact: true }).waitFor()
  })

  test('finds lines in the log', async () => {
    const stage = await openStage()
    const job = await stage.client.jobs.enqueue({ type: 'gated', params: {} })
    const page = await stage.open(`/jobs/${job.job_id}`)
    await page.getByText('waiting at the gate').waitFor()
    await page.getByLabel('Find in logs').fill('nowhere')
    await vi.waitFor(async () => expect(await page.locator('.log li').count()).toBe(0), PATIENCE)
    await page.getByLabel('Find in logs').fill('GATE')
    await page.getByText('waiting at the gate').waitFor()
  })

  test('draws all attempts on one clock, which can be brought nearer', async () => {
    const stage = await openStage()
    const job = await stage.client.jobs.enqueue({
      type: 'fails',
      params: {},
      retry_policy: { max_retries: 1, backoff: { kind: 'fixed', delay_ms: 400 } },
    })
    const page = await stage.open(`/jobs/${job.job_id}`)
    await vi.waitFor(async () => expect((await stage.client.jobs.chain(job.job_id)).settled).toBe(true), PATIENCE)
    await page.getByRole('link', { name: 'Attempt 2' }).waitFor()
    await loaded(page)
    const second = page.locator('.attempt').nth(1)
    const delayed = second.locator('.span.delayed')
    await delayed.waitFor()
    const shareOf = async () => Number.parseFloat(await delayed.evaluate((bar) => bar.style.width))
    expect(await shareOf()).toBeGreaterThan(50)
    await second.getByText(/delayed 4\d\d ms/).waitFor()
    await page.getByRole('button', { name: 'Zoom to attempt 2' }).click()
    // Of its delay only the air before it is seen now: a tenth of the attempt, and a millisecond at least.
    const retry = (await stage.client.jobs.chain(job.job_id)).items[1]
    const lengthMs = Date.parse(retry?.finished_at ?? '') - Date.parse(retry?.run_at ?? '')
    const airMs = Math.max(1, lengthMs * 0.1)
    const share = (airMs / (airMs + lengthMs)) * 100
    await vi.waitFor(async () => expect(await shareOf()).toBeCloseTo(share, 0), PATIENCE)
    await page.getByRole('button', { name: 'Whole chain' }).click()
    await vi.waitFor(async () => expect(await shareOf()).toBeGreaterThan(50), PATIENCE)

    const bars = (await second.locator('.spans').boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
    await page.mouse.move(bars.x + bars.width * 0.4, bars.y + 4)
    await page.mouse.down()
    await page.mouse.move(bars.x + bars.width * 0.5, bars.y + 4)
    await page.mouse.up()
    await vi.waitFor(async () => expect(await shareOf()).toBeGreaterThan(95), PATIENCE)
  })

  test('copies also where the browser has no clipboard for pages without TLS', async () => {
    const stage = await openStage({ isStarted: false })
    const { job_id } = await stage.client.jobs.enqueue({ type: 'echo', params: {} })
    const page = await stage.open('/jobs')
    await page.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    await page.goto(new URL(`/jobs/${job_id}`, stage.server.url).href)
    await page.getByRole('button', { name: 'Copy job id' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.locator('dialog input:focus').waitFor()
    await page.keyboard.press('Control+v')
    await vi.waitFor(async () => expect(await page.locator('dialog input').inputValue()).toBe(job_id), PATIENCE)
  })

  test('says that not all that depends on it is drawn', async () => {
    const stage = await openStage({ isStarted: false })
    const { job_id } = await stage.client.jobs.enqueue({ type: 'echo', params: {} })
    await stage.client.jobs.bulk(Array.from({ length: 31 }, () => ({ type: 'echo', depends_on: [job_id] })))
    const page = await stage.open(`/jobs/${job_id}`)
    await page.getByText('the first 30 of each are shown').waitFor()
  })
})
