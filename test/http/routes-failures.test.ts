import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineJob } from '../../src/library/define-job.ts'
import { openApi, PATIENCE, refusalOf } from './api-stage.ts'

const retry = { maxRetries: 0 }
const numbered = defineJob({
  type: 'numbered',
  params: z.object({ n: z.number() }),
  retry,
  run: ({ params }) => Promise.reject(new TypeError(`no ink in pen ${params.n}`)),
})
const other = defineJob({ type: 'other', retry, run: () => Promise.reject(new Error('no paper')) })

test('GET /api/failures puts failures with the same cause together', async () => {
  const { scheduler, viewer } = await openApi({ jobs: [numbered, other] })
  for (const n of [1, 22, 333]) await scheduler.enqueue('numbered', { n })
  await scheduler.enqueue('other', {})
  await scheduler.start()
  await vi.waitFor(async () => expect((await viewer.failures()).looked_at).toBe(4), PATIENCE)
  const { items, limited, since } = await viewer.failures()
  const pens = items.find(({ job_type }) => job_type === 'numbered')
  expect(items).toHaveLength(2)
  expect(pens).toMatchObject({
    count: 3,
    reason: 'error',
    error_name: 'TypeError',
    pattern: 'TypeError: no ink in pen <n>',
  })
  expect(pens?.message).toMatch(/^TypeError: no ink in pen \d+$/)
  expect(pens?.fingerprint).toMatch(/^[0-9a-f]{16}$/)
  expect(Date.parse(pens?.first_seen_at ?? '')).toBeLessThanOrEqual(Date.parse(pens?.last_seen_at ?? ''))
  const example = await viewer.jobs.get(pens?.example_job_id ?? '')
  expect(example).toMatchObject({ job_type: 'numbered', outcome: 'FAILED' })
  expect([limited, typeof since]).toEqual([false, 'string'])
  expect((await viewer.failures({ type: 'other' })).items).toMatchObject([
    { job_type: 'other', count: 1, error_name: null },
  ])
  expect((await viewer.failures({ since: '2099-01-01T00:00:00Z' })).items).toEqual([])
  expect((await viewer.failures({ limit: 1 })).items).toHaveLength(1)
  expect(await scheduler.listFailures({ type: 'numbered' })).toMatchObject({ items: [{ count: 3 }], lookedAt: 4 })
  expect(await refusalOf(viewer.failures({ since: 'now' }))).toMatchObject({ status: 422, path: 'since' })
})
