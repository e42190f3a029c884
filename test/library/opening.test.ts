// Opening a scheduler: what it accepts from other copies of Pawl, and that it does not write what is there already.
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { NonRetryableError, PawlError } from '../../src/domain/errors.ts'
import { defineJob } from '../../src/library/define-job.ts'
import { REGISTERED } from '../../src/library/job-type.ts'
import { openScheduler } from '../../src/library/open-scheduler.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { DatabaseSync, newFolder } from './stage.ts'

type Pawl = Pick<typeof import('../../src/index.ts'), 'defineJob' | 'NonRetryableError' | 'PawlError' | 'openScheduler'>

/** Another copy of the package, as a project has one that a global command loads. */
async function loadOtherCopy(): Promise<Pawl> {
  const folder = join(newFolder(), 'src')
  cpSync('src', folder, { recursive: true })
  return (await import(/* @vite-ignore */ pathToFileURL(join(folder, 'index.ts')).href)) as Pawl
}

describe('another copy of Pawl', () => {
  test('makes job types that this one executes, and errors that this one understands', async () => {
    const other = await loadOtherCopy()
    expect(other.PawlError).not.toBe(PawlError)
    const jobs = [
      other.defineJob({ type: 'told', run: ({ skip }) => skip('told before') }),
      other.defineJob({
        type: 'hopeless',
        retry: { maxRetries: 5 },
        run: () => {
          throw new other.NonRetryableError('in vain')
        },
      }),
    ]
    await using scheduler = await openScheduler({ store: sqlite(':memory:'), jobs })
    await scheduler.start()
    const told = await scheduler.enqueue('told', null)
    const hopeless = await scheduler.enqueue('hopeless', null)
    expect((await scheduler.settled(told.jobId)).outcome).toBe('SKIPPED')
    const { outcome, jobId } = await scheduler.settled(hopeless.jobId)
    expect([outcome, jobId]).toEqual(['FAILED', hopeless.jobId])
    const refusal = await other.openScheduler({ store: sqlite(':memory:'), concurrency: 0 }).catch((error) => error)
    expect(refusal).toBeInstanceOf(PawlError)
  })

  test('of another version is named when it made a job type', async () => {
    const job = defineJob({ type: 'told', run: () => null })
    const later = { ...job, [REGISTERED]: { ...job[REGISTERED], version: 99 } }
    const opening = openScheduler({ store: sqlite(':memory:'), jobs: [later] })
    await expect(opening).rejects.toMatchObject({ code: 'invalid_option', path: 'jobs.0', message: /npx pawl/ })
  })

  test('is not seen in what only looks like an error of Pawl', () => {
    const others = [null, 'PawlError', { name: 'PawlError', code: 'x' }, new Error('x'), new NonRetryableError('x')]
    for (const value of others) expect(value).not.toBeInstanceOf(PawlError)
  })
})

describe('a store that another process is writing to', () => {
  const job = defineJob({ type: 'story', concurrency: 2, resources: ['ink'], run: () => null })
  const options = { jobs: [job], maxRunning: 3, resources: { ink: 1 } }

  test('is opened and read without waiting, by a scheduler whose types and limits it knows, or that has none', async () => {
    const path = join(newFolder(), 'pawl.db')
    await (await openScheduler({ store: sqlite(path), ...options })).close()
    const writer = new DatabaseSync(path)
    writer.exec('begin immediate')
    try {
      for (const known of [{}, options]) {
        await using scheduler = await openScheduler({ store: sqlite(path), ...known })
        expect((await scheduler.listJobs()).items).toEqual([])
      }
    } finally {
      writer.exec('rollback')
      writer.close()
    }
  })

  test('learns at the next opening what a type has become', async () => {
    const path = join(newFolder(), 'pawl.db')
    await (await openScheduler({ store: sqlite(path), ...options })).close()
    const changed = defineJob({ type: 'story', timeoutMs: 5, run: () => null })
    await (await openScheduler({ store: sqlite(path), jobs: [changed] })).close()
    const store = await sqlite(path).open()
    expect(await store.findTypes()).toMatchObject([{ type: 'story', policy: { timeoutMs: 5, resources: [] } }])
    await store.close()
  })
})
