import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineJob } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import type { StoreSource } from 'pawl/store'
import { openTestScheduler, SettableClock, type TestScheduler } from 'pawl/testing'

type Row = Readonly<Record<string, unknown>>

export interface SampleDatabase {
  query(sql: string): readonly Row[]
  close(): Promise<void>
}

/** A database in which every table and view has something to show, with a job that executes right now. */
export async function openSampleDatabase(): Promise<SampleDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-sample-'))
  const path = join(folder, 'jobs.db')
  const kit = await openSample(sqlite(path))
  const database = await openForReading(path)
  return {
    query: (sql) => database.prepare(sql).all() as readonly Row[],
    close: async () => {
      database.close()
      await kit.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The same on any store. It is in use until the scheduler is closed. */
export async function openSample(store: StoreSource): Promise<TestScheduler> {
  const kit = await openTestScheduler({
    store,
    // Near the present, because some of the documented queries look at the last day.
    clock: new SettableClock(Date.now() - 3_600_000),
    jobs: [greet, flaky, broken, pickyEater, training],
    concurrency: 2,
    resources: { gpu: 1 },
    name: 'sample',
  })
  const { scheduler } = kit
  await scheduler.enqueue(greet, { name: 'Ada' }, { idempotencyKey: 'hello-ada', createdBy: 'docs', tags: ['first'] })
  await scheduler.enqueue(flaky, null)
  await scheduler.enqueue(broken, null)
  await scheduler.enqueue(pickyEater, null)
  await kit.advance('10m')
  await scheduler.enqueue(training, null, { businessKey: 'model-7', priority: 5 })
  await scheduler.enqueue(training, null)
  await scheduler.enqueue(greet, { name: 'Grace' }, { delayMs: 3_600_000 })
  const unwanted = await scheduler.enqueue(greet, { name: 'Nobody' }, { delayMs: 1_000 })
  await unwanted.cancel({ reason: 'not needed any more' })
  await kit.advance('5s')
  return kit
}

const greet = defineJob({
  type: 'greet',
  run: ({ params, log, addArtifact }) => {
    log.info('Greeting', { params })
    addArtifact('greeting.txt')
    return `Hello, ${JSON.stringify(params)}`
  },
})

const flaky = defineJob({
  type: 'flaky',
  run: ({ attempt }) => {
    if (attempt === 1) throw new Error('not yet')
  },
})

const broken = defineJob({
  type: 'broken',
  retry: { maxRetries: 1 },
  run: () => {
    throw new Error('never')
  },
})

const pickyEater = defineJob({ type: 'picky-eater', run: ({ skip }) => skip('not hungry') })

const training = defineJob({
  type: 'training',
  resources: ['gpu'],
  async run({ progress, signal }) {
    progress(0.4, 'epoch 4 of 10')
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
  },
})

async function openForReading(path: string) {
  const name = Number(process.versions.node.split('.')[0]) >= 24 ? 'node:sqlite' : '@photostructure/sqlite'
  const { DatabaseSync } = (await import(name)) as typeof import('@photostructure/sqlite')
  return new DatabaseSync(path, { readOnly: true })
}
