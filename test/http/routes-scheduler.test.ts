import { describe, expect, test } from 'vitest'
import { openApi, PATIENCE, refusalOf } from './api-stage.ts'

const NOTHING_RECOVERED = {
  running_jobs_recovered: 0,
  reservations_expired: 0,
  retries_created: 0,
  job_groups_recovered: 0,
  errors: [],
}

describe('/api/scheduler', () => {
  test('starts once, and says so', async () => {
    const { admin } = await openApi()
    expect(await admin.scheduler.status()).toMatchObject({ scheduler_running: false, recovery_stats: null, nodes: [] })
    expect(await admin.scheduler.start()).toEqual({ recovery_stats: NOTHING_RECOVERED })
    expect(await admin.scheduler.start()).toEqual({ recovery_stats: null })
    expect(await admin.scheduler.status()).toMatchObject({ scheduler_running: true, recovery_stats: NOTHING_RECOVERED })
    const starts = await Promise.all([admin.scheduler.start(), admin.scheduler.start()])
    expect(starts).toEqual([{ recovery_stats: null }, { recovery_stats: null }])
  })

  test('leaves a note of who started and stopped it, and none where it was so already', async () => {
    const { admin } = await openApi()
    for (let times = 0; times < 2; times++) await admin.scheduler.start()
    for (let times = 0; times < 2; times++) await admin.scheduler.stop()
    const { items } = await admin.audit.list()
    expect(items.map(({ actor, action }) => `${actor} ${action}`)).toEqual([
      'key:the admin scheduler.stop',
      'key:the admin scheduler.start',
    ])
  })

  test('stops, names what still runs, and goes on with it after a start', async () => {
    const { admin, scheduler, release } = await openApi()
    await admin.scheduler.start()
    const { job_id } = await admin.jobs.enqueue({ type: 'slow' })
    await expect.poll(async () => (await admin.scheduler.status()).current_job_ids, PATIENCE).toEqual([job_id])
    expect(await admin.scheduler.stop({ timeout: 1 })).toEqual({ still_running: [job_id] })
    expect(await admin.scheduler.status()).toMatchObject({ scheduler_running: false, current_job_ids: [job_id] })
    await admin.scheduler.start()
    release()
    expect(await scheduler.settled(job_id)).toMatchObject({ outcome: 'COMPLETED' })
    expect(await admin.scheduler.stop()).toEqual({ still_running: [] })
    expect(await admin.scheduler.stop()).toEqual({ still_running: [] })
  })

  test.each([0, 301, 1.5, '30', null])('refuses a timeout of %j', async (timeout) => {
    const { admin } = await openApi()
    expect(await refusalOf(admin.scheduler.stop({ timeout } as never))).toMatchObject({ status: 422, path: 'timeout' })
  })

  test('counts what came of Jobs', async () => {
    const { admin, scheduler } = await openApi()
    await scheduler.start()
    for (const type of ['story', 'picky', 'broken']) {
      await scheduler.settled((await admin.jobs.enqueue({ type })).job_id)
    }
    await admin.scheduler.stop()
    await admin.jobs.cancel((await admin.jobs.enqueue({ type: 'story' })).job_id)
    await admin.jobs.bulk([{ type: 'story' }, { type: 'story' }])
    expect(await admin.scheduler.status()).toMatchObject({
      queue_length: 2,
      queue_length_capped: false,
      cumulative_stats: { total_executed: 4, succeeded: 1, failed: 2, cancelled: 1, skipped: 1 },
      has_active_reservation: false,
    })
  })

  test('shows every node, and which one answers', async () => {
    const { viewer, scheduler } = await openApi({ name: 'the first', concurrency: 3 })
    expect(await viewer.nodes.list()).toEqual({ items: [], next_cursor: null })
    await scheduler.start()
    const { items } = await viewer.nodes.list()
    expect(items).toMatchObject([
      {
        node_id: scheduler.nodeId,
        name: 'the first',
        pid: process.pid,
        concurrency: 3,
        claims: true,
        alive: true,
        is_this: true,
      },
    ])
    expect(items[0]?.types).toContain('story')
    expect((await viewer.scheduler.status()).nodes).toEqual(items)
  })
})
