import { expect, test, vi } from 'vitest'
import { openApi, PATIENCE } from './api-stage.ts'

test('GET /api/statistics/recent tells the last hour by the minute, and how long Jobs wait and run', async () => {
  const { scheduler, operator, viewer } = await openApi()
  expect((await viewer.statistics.recent()).times).toEqual({ runs: 0, wait_ms: null, run_ms: null })
  await operator.jobs.enqueue({ type: 'story' })
  await operator.jobs.enqueue({ type: 'picky' })
  await operator.jobs.enqueue({ type: 'broken', retry_policy: { max_retries: 0 } })
  await scheduler.start()
  await vi.waitFor(async () => expect((await viewer.statistics.recent()).times.runs).toBe(3), PATIENCE)
  const { minutes, times } = await viewer.statistics.recent()
  expect(minutes).toHaveLength(60)
  const sum = (name: 'executed' | 'completed' | 'failed' | 'skipped') =>
    minutes.reduce((total, minute) => total + minute[name], 0)
  expect([sum('executed'), sum('completed'), sum('failed'), sum('skipped')]).toEqual([3, 1, 1, 1])
  expect(minutes.slice(0, 57).every(({ executed }) => executed === 0)).toBe(true)
  expect(Date.parse(minutes[59]?.minute_at ?? '') - Date.parse(minutes[0]?.minute_at ?? '')).toBe(59 * 60_000)
  expect(times.wait_ms?.p50).toBeLessThanOrEqual(times.wait_ms?.p95 ?? -1)
  expect(times.run_ms?.p50).toBeGreaterThanOrEqual(0)
  expect(await scheduler.recentStatistics()).toMatchObject({ times: { runs: 3 } })
})

test('GET /api/job-types tells which params a type takes', async () => {
  const { viewer } = await openApi()
  const { items } = await viewer.types.list()
  const schemaOf = (name: string) => items.find(({ type }) => type === name)?.params_schema
  expect(schemaOf('story')).toMatchObject({
    type: 'object',
    properties: { genre: { type: 'string', default: 'gothic' }, length: { type: 'integer' } },
  })
  expect(schemaOf('review')).toBeNull()
})

test('GET /api/nodes tells when a node was last heard of, where that is not known at once', async () => {
  const { scheduler, viewer } = await openApi()
  await scheduler.start()
  const [node] = (await viewer.nodes.list()).items
  expect(node).toMatchObject({ alive: true, is_this: true })
  const seenAt = node?.last_seen_at
  if (seenAt !== null) expect(Math.abs(Date.parse(seenAt ?? '') - Date.now())).toBeLessThan(60_000)
})
