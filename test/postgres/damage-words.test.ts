import { expect, test } from 'vitest'
import { defineJob, openScheduler } from '../../src/index.ts'
import { postgres } from '../../src/stores/postgres/index.ts'
import { newSchema, postgresPool, postgresUrl } from './schemas.ts'

const plain = defineJob({ type: 'plain', run: () => null })

test('params and results that are no JSON any more are told as damage, with what to do about it', async () => {
  const schema = newSchema()
  await using scheduler = await openScheduler({ store: postgres(postgresUrl(), { schema }), jobs: [plain] })
  await scheduler.start()
  const job = await scheduler.enqueue(plain, { title: 'Emma' })
  await job.settled()
  await postgresPool().query(`update "${schema}".jobs set params = '{"title":'`)
  await postgresPool().query(`update "${schema}".runs set result = '{"title":'`)

  const damage = { code: 'database_corrupt', message: expect.stringContaining('Restore a backup') }
  await expect(scheduler.getJob(job.jobId)).rejects.toMatchObject(damage)
  await expect(scheduler.settled(job.jobId)).rejects.toMatchObject(damage)
})
