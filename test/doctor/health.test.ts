// What no single row contradicts: clocks, nodes, what is stuck, and room to write. All of it are warnings.
import { truncateSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import type { JobPolicy } from '../../src/domain/job.ts'
import { type Check, examineStore } from '../../src/operations/doctor.ts'
import type { Life } from '../../src/store/nodes.ts'
import type { Store } from '../../src/store/store.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { SettableClock } from '../../src/testing/index.ts'
import { newFileSystem } from '../library/stage.ts'
import { contextOn, damage, newFolder, openStore } from './stage.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

const PLAIN: JobPolicy = {
  retry: { maxRetries: 0, maxCrashRetries: 0, backoff: { kind: 'none' } },
  timeoutMs: null,
  resources: [],
}

/** A store, a clock, and what can stand on it. */
class Ward {
  readonly clock = new SettableClock()
  readonly path: string
  readonly store: Store
  /** Kept, because a lock that nobody holds on to may be dropped with its garbage. */
  readonly #lives: Life[] = []
  #ids = 0

  private constructor(path: string, store: Store) {
    this.path = path
    this.store = store
  }

  static async open(folder = newFolder()): Promise<Ward> {
    const path = join(folder, 'pawl.db')
    return new Ward(path, await openStore(path))
  }

  newId = () => `id-${++this.#ids}`

  async enqueue(jobId: string, policy: Partial<JobPolicy> = {}, type = 'work'): Promise<void> {
    const links = { templateId: null, scheduleId: null, slotAt: null, webhookUrl: null, dependsOn: [] }
    const words = { name: null, createdBy: null, businessKey: null, idempotency: null, tags: [] }
    const job = { jobId, type, params: 'null', priority: 0, runAt: null, policy: { ...PLAIN, ...policy } }
    await this.store.enqueueJobs([{ ...job, ...words, ...links, onParentFailure: 'cancel' }], this.clock.now())
  }

  /** A node that has begun to claim. `dead`: it has no proof of life. */
  async addNode(nodeId: string, more: { dead?: true; claims?: boolean; types?: string[] } = {}): Promise<void> {
    if (more.dead === undefined) this.#lives.push(await this.store.liveness.begin(nodeId))
    const record = { nodeId, name: 'someone', host: 'house', pid: 1, concurrency: 1, startedAt: this.clock.now() }
    await this.store.registerNode({ ...record, types: more.types ?? ['work'], claims: more.claims ?? true })
  }

  async claim(nodeId: string): Promise<void> {
    const now = this.clock.now()
    await this.store.claimJobs({ nodeId, now, limit: 1, types: new Map([['work', 1]]), newRunId: this.newId })
  }

  /** A ticket of the node `caller`. */
  async openTicket(): Promise<void> {
    const ticket = { type: 'work', params: 'null', policy: PLAIN, createdBy: null, onBusy: 'wait' as const }
    const open = { ...ticket, reservationId: 'ticket', callerNodeId: 'caller' }
    expect(await this.store.openTicket(open, this.clock.now())).toBe('waiting')
  }

  pass(ms: number): void {
    this.clock.set(this.clock.now() + ms)
  }

  async examine(): Promise<Record<string, Check>> {
    const { ok, checks } = await examineStore(contextOn(this.store, this.clock))
    expect(ok).toBe(true)
    return Object.fromEntries(checks.map((check) => [check.id, check]))
  }

  /** What is not as it should be. */
  async complaints(): Promise<Record<string, readonly string[]>> {
    const checks = Object.values(await this.examine()).filter(({ status }) => status !== 'ok')
    return Object.fromEntries(checks.map(({ id, findings }) => [id, findings.flatMap(({ rows }) => rows)]))
  }
}

test('a new store has nothing to complain of', async () => {
  const ward = await Ward.open()
  const checks = Object.values(await ward.examine())
  expect(checks.every(({ status }) => status === 'ok')).toBe(true)
  const ids = [
    'schema',
    'clock',
    'nodes',
    'queue',
    'timeouts',
    'tickets',
    'cascades',
    'operations',
    'deliveries',
    'schedules',
    'disk',
  ]
  expect(checks.slice(-ids.length).map(({ id }) => id)).toEqual(ids)
})

test('neither has one in memory', async () => {
  const store = await sqlite(':memory:').open()
  const { ok, checks } = await examineStore(contextOn(store))
  expect([ok, checks.every(({ status }) => status === 'ok')]).toEqual([true, true])
  await store.close()
})

test('a node without a proof of life is dead, and what it left is counted', async () => {
  const ward = await Ward.open()
  await ward.enqueue('a')
  await ward.addNode('living')
  await ward.addNode('dead', { dead: true })
  await ward.claim('dead')
  const { nodes } = await ward.examine()
  expect(nodes).toMatchObject({ status: 'warning', findings: [{ remedy: 'recovery', count: 1 }] })
  expect(nodes?.findings[0]?.rows).toEqual(['dead (someone, process 1 on house)'])
  expect(nodes?.findings[0]?.message).toContain('1 body')
})

describe('Jobs that are ready', () => {
  test('without a node that is started', async () => {
    const ward = await Ward.open()
    await ward.enqueue('a')
    await ward.addNode('stopped', { claims: false })
    const { queue } = await ward.examine()
    expect(queue?.findings[0]?.message).toContain('no node is started')
    expect(queue?.findings[0]?.rows).toEqual(['work: 1, the oldest is a'])
  })

  test('of a type that no node handles', async () => {
    const ward = await Ward.open()
    await ward.enqueue('a')
    await ward.enqueue('b', {}, 'other')
    await ward.addNode('node')
    expect(await ward.complaints()).toEqual({ queue: ['other: 1, the oldest is b'] })
  })

  test('for more than an hour, though a node has a free place', async () => {
    const ward = await Ward.open()
    await ward.enqueue('a')
    await ward.addNode('node')
    ward.pass(HOUR)
    expect(await ward.complaints()).toEqual({})
    ward.pass(MINUTE)
    expect(await ward.complaints()).toEqual({ queue: ['a (work)'] })
  })

  test('wait rightly for a place', async () => {
    const ward = await Ward.open()
    await ward.addNode('node')
    await ward.enqueue('a')
    await ward.claim('node')
    await ward.enqueue('b')
    ward.pass(2 * HOUR)
    expect(await ward.complaints()).toEqual({})
  })

  test('wait rightly for a permit', async () => {
    const ward = await Ward.open()
    await ward.addNode('busy')
    await ward.addNode('idle')
    await ward.enqueue('a', { resources: ['ink'] })
    await ward.claim('busy')
    await ward.enqueue('b', { resources: ['ink'] })
    ward.pass(2 * HOUR)
    expect(await ward.complaints()).toEqual({})
    await ward.store.setLimit('resource:ink', 2)
    expect(await ward.complaints()).toEqual({ queue: ['b (work)'] })
  })

  test('wait rightly behind a ticket, which is served first', async () => {
    const ward = await Ward.open()
    await ward.addNode('node')
    await ward.addNode('caller', { claims: false })
    await ward.openTicket()
    await ward.enqueue('a')
    ward.pass(2 * HOUR)
    expect(await ward.complaints()).toEqual({ tickets: ['ticket'] })
  })
})

test('a body that goes on long after its timeout', async () => {
  const ward = await Ward.open()
  await ward.addNode('node')
  await ward.enqueue('a', { timeoutMs: 1_000 })
  await ward.claim('node')
  ward.pass(MINUTE)
  expect(await ward.complaints()).toEqual({})
  ward.pass(2_000)
  expect(await ward.complaints()).toEqual({ timeouts: ['a (work, on node node)'] })
})

test('a body of a dead node is told as what that node left, not as one that goes on', async () => {
  const ward = await Ward.open()
  await ward.addNode('node', { dead: true })
  await ward.enqueue('a', { timeoutMs: 1_000 })
  await ward.claim('node')
  ward.pass(HOUR)
  expect(await ward.complaints()).toEqual({ nodes: ['node (someone, process 1 on house)'] })
})

test('a node that leaves in good order while it is looked at is not dead', async () => {
  const ward = await Ward.open()
  await ward.addNode('node')
  vi.spyOn(ward.store.liveness, 'isAlive').mockImplementation(async (nodeId) => {
    await ward.store.removeNode(nodeId, ward.clock.now())
    return false
  })
  expect(await ward.complaints()).toEqual({})
})

test('a ticket whose caller is gone', async () => {
  const ward = await Ward.open()
  await ward.addNode('node')
  await ward.addNode('caller', { claims: false })
  await ward.openTicket()
  expect(await ward.complaints()).toEqual({})
  ward.pass(2 * MINUTE)
  expect(await ward.complaints()).toEqual({ tickets: ['ticket'] })
})

test('an order that nobody carries out', async () => {
  const ward = await Ward.open()
  const now = ward.clock.now()
  damage(ward.path, `insert into pawl_cascades (kind, subject, created_at) values ('settled', 'gone', ${now})`)
  expect(await ward.complaints()).toEqual({})
  ward.pass(2 * MINUTE)
  const { cascades } = await ward.examine()
  expect(cascades).toMatchObject({ status: 'warning', findings: [{ count: 1 }] })
  expect(cascades?.findings[0]?.advice).toBe('Start a node: any node does it.')
})

test('a message that has been due for long', async () => {
  const ward = await Ward.open()
  await ward.addNode('node')
  const now = ward.clock.now()
  const webhook = { webhookId: 'hook', name: null, url: 'https://example.com', events: null, jobTypes: null }
  const rest = { enabled: true, disabledReason: null, revision: 1, createdAt: now, updatedAt: now }
  await ward.store.createWebhook({ ...webhook, ...rest }, 'whsec_x')
  await ward.enqueue('a')
  await ward.store.cancelJob({ jobId: 'a', mode: 'graceful', reason: null, now })
  ward.pass(9 * MINUTE)
  expect(await ward.complaints()).toEqual({})
  ward.pass(2 * MINUTE)
  const { deliveries } = await ward.examine()
  expect(deliveries).toMatchObject({ status: 'warning', findings: [{ count: 2 }] })
})

test('a schedule that is late, and one that is broken', async () => {
  const ward = await Ward.open()
  const insert = (id: string, enabled: number, nextSlotAt: number | null, reason: string | null) => `
    insert into pawl_schedules (schedule_id, name, type, params, every_ms, anchor_at, timezone, missed, overlap, priority,
      enabled, disabled_reason, created_at, updated_at, last_slot_at, next_slot_at, planned_at)
    values ('${id}', '${id}', 'work', 'null', 60000, 0, 'UTC', 'one', 'allow', 0,
      ${enabled}, ${reason === null ? 'null' : `'${reason}'`}, 0, 0, 0, ${nextSlotAt}, 0)`
  damage(ward.path, insert('late', 1, ward.clock.now(), null), insert('broken', 0, null, 'no such zone'))
  damage(ward.path, insert('resting', 0, null, null))
  ward.pass(3 * MINUTE)
  expect(await ward.complaints()).toEqual({ schedules: ['late (late)', 'broken (broken): no such zone'] })
})

test('a clock that is a few seconds ahead of another is not worth a word', async () => {
  const ward = await Ward.open()
  await ward.addNode('node')
  ward.pass(4_000)
  await ward.enqueue('a')
  ward.pass(-4_000)
  expect(await ward.complaints()).toEqual({})
  ward.pass(-2_000)
  expect(Object.keys(await ward.complaints())).toContain('clock')
})

test('a clock that was ahead', async () => {
  const ward = await Ward.open()
  ward.pass(HOUR)
  const ahead = new Date(ward.clock.now()).toISOString()
  await ward.enqueue('a')
  await ward.addNode('node')
  ward.pass(-HOUR)
  const { clock } = await ward.examine()
  expect(clock?.status).toBe('warning')
  expect(clock?.findings[0]?.rows).toContain(`a job was accepted at ${ahead}`)
})

describe('the disk', () => {
  test('a log that has become very large', async () => {
    const ward = await Ward.open()
    await ward.enqueue('a')
    truncateSync(`${ward.path}-wal`, 300 * 1024 * 1024)
    const { disk } = await ward.examine()
    expect(disk?.findings[0]?.message).toContain('-wal has 300 MiB')
  })

  test('hardly any room left', async (context) => {
    const ward = await Ward.open(newFileSystem(context, 4_096).path)
    const { disk } = await ward.examine()
    expect(disk?.findings[0]?.message).toMatch(/has \d MiB left/)
    await ward.store.close()
  })
})

test('a bulk operation that nobody carries out is told, one that goes on is not', async () => {
  const ward = await Ward.open()
  const order = { operationId: 'order', kind: 'cancel', filter: {}, jobIds: null, mode: 'graceful' } as const
  const matched = { matched: 1, isMatchedCapped: false }
  await ward.store.startOperation({ ...order, reason: null, createdBy: null, matched }, ward.clock.now())
  expect(await ward.complaints()).toEqual({})
  ward.pass(2 * MINUTE)
  const { operations } = await ward.examine()
  expect(operations).toMatchObject({ status: 'warning', findings: [{ rows: ['order (cancel, 0 done)'] }] })
  expect(operations?.findings[0]?.advice).toContain('Start a node: any node does it.')
  const next = { walk: 0, cursor: null }
  const page = { operationId: 'order', pages: 0, jobIds: [], failed: 0, next, newId: ward.newId }
  await ward.store.applyOperationPage({ ...page, now: ward.clock.now() })
  expect(await ward.complaints()).toEqual({})
})
