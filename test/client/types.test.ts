import { expectTypeOf, test } from 'vitest'
import type { Answered, Client } from '../../src/client/index.ts'

// Nothing here is executed: the compiler is the test.
test('what a client is given and gives is typed by the contract', () => {
  const use = async (client: Client) => {
    const job = await client.jobs.get('a')
    expectTypeOf(job.status).toEqualTypeOf<'QUEUED' | 'RUNNING' | 'CANCELLED' | 'FINISHED'>()
    expectTypeOf(job).toEqualTypeOf<Answered<'GET /api/jobs/{job_id}'>>()
    expectTypeOf(await client.schedules.remove('a')).toEqualTypeOf<null>()
    expectTypeOf((await client.runs.list({ status: 'FAILED', limit: 5 })).items[0]?.duration_ms).toEqualTypeOf<
      number | null | undefined
    >()
    for await (const group of client.all(client.groups.list, { limit: 5 })) {
      expectTypeOf(group.counts.total).toEqualTypeOf<number>()
    }
    // @ts-expect-error: the type is a text
    await client.jobs.enqueue({ type: 1 })
    // @ts-expect-error: there is no such field
    await client.jobs.enqueue({ type: 'story', colour: 'red' })
    // @ts-expect-error: there is no such status
    await client.jobs.list({ status: 'DONE' })
    // @ts-expect-error: an id is missing
    await client.request('GET /api/jobs/{job_id}', {})
    // @ts-expect-error: there is no such endpoint
    await client.request('GET /api/nothing', {})
    // @ts-expect-error: lists have no such filter
    client.all(client.jobs.list, { colour: 'red' })
  }
  expectTypeOf(use).toBeFunction()
})
