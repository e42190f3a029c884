// Several nodes on one database do the same at the same moment: fire schedules, send deliveries, declare what they need.
// Each node is a store of its own with connections of its own, as another process would have.
import { afterEach, describe, expect, test } from 'vitest'
import type { OverlapPolicy, Schedule } from '../../src/domain/schedule.ts'
import type { Delivery } from '../../src/domain/webhook.ts'
import { HOUR, NOW, newId, newJob, newPolicy, SECOND } from '../../src/store/conformance/fixtures.ts'
import { assertNoFault } from '../../src/store/conformance/no-fault.ts'
import { newFiring, newSchedule, newSlot, newTemplate } from '../../src/store/conformance/schedule-fixtures.ts'
import { type Stage, takeStage } from '../../src/store/conformance/stage.ts'
import {
  attemptOf,
  complete,
  leasePage,
  newWebhook,
  SECRET,
  subscribe,
} from '../../src/store/conformance/webhook-fixtures.ts'
import type { FiringResult } from '../../src/store/schedules.ts'
import { postgres } from '../../src/stores/postgres/index.ts'
import { giveBackSchema, postgresPool, postgresUrl, takeSchema } from './schemas.ts'

let schema: string | null = null
const nodes: Stage[] = []

/** So many nodes on one empty database. They are gone after the test, and no invariant is broken. */
async function openNodes(count: number): Promise<Stage[]> {
  schema = takeSchema()
  const opened = schema
  await Promise.all(
    Array.from({ length: count }, async () => {
      const store = await postgres(postgresUrl(), { schema: opened, connections: 4 }).open()
      nodes.push(await takeStage(store))
    }),
  )
  return nodes
}

afterEach(async () => {
  try {
    for (const { store } of nodes.slice(0, 1)) await assertNoFault(store)
  } finally {
    for (const { store } of nodes.splice(0)) await store.close()
    if (schema !== null) await giveBackSchema(schema)
    schema = null
  }
})

/** Asks the database behind the store's back, so that no store is believed what it says of itself. */
async function askDatabase<Row>(sql: string, ...values: unknown[]): Promise<Row[]> {
  const { rows } = await postgresPool().query(sql.replaceAll('pawl.', `"${schema}".`), values)
  return rows as Row[]
}

const each = <Result>(stages: readonly Stage[], act: (stage: Stage, index: number) => Promise<Result>) =>
  Promise.all(stages.map(act))

/** As a node does it: fires the next slot of each schedule whose slot has come. */
async function fireDue({ store }: Stage, now: number): Promise<FiringResult[]> {
  const due = await store.findDueSchedules(now, 100)
  const firings = due.map((schedule) =>
    newFiring(schedule, [newSlot(schedule.scheduleId, schedule.nextSlotAt as number)], {
      nextSlotAt: (schedule.nextSlotAt as number) + HOUR,
    }),
  )
  return [...(await store.fireSlots(firings, now))]
}

const ROUNDS = 20

describe('schedules that several nodes fire at once', () => {
  test('each slot makes one Job, and none is lost', async () => {
    const stages = await openNodes(5)
    const schedules = Array.from({ length: 10 }, () => newSchedule())
    for (const schedule of schedules) await stages[0]?.store.createSchedule(schedule)

    const results: FiringResult[] = []
    for (let round = 1; round <= ROUNDS; round++) {
      results.push(...(await each(stages, (stage) => fireDue(stage, NOW + round * HOUR))).flat())
    }

    const fired = results.flatMap((result) => (result.kind === 'fired' ? result.jobIds : []))
    expect(fired).toHaveLength(schedules.length * ROUNDS)
    const jobs = await askDatabase<{ job_id: string; slot: string }>(
      "select job_id, schedule_id || ' ' || slot_at as slot from pawl.jobs",
    )
    expect(jobs.map(({ job_id }) => job_id).toSorted()).toEqual(fired.toSorted())
    const slots = schedules.flatMap(({ scheduleId }) =>
      Array.from({ length: ROUNDS }, (_, index) => `${scheduleId} ${NOW + (index + 1) * HOUR}`),
    )
    expect(jobs.map(({ slot }) => slot).toSorted()).toEqual(slots.toSorted())
    expect(await stages[0]?.store.nextSlotAt()).toBe(NOW + (ROUNDS + 1) * HOUR)
  })

  test('one that cannot be written keeps none of the others from firing', async () => {
    const [stage] = (await openNodes(1)) as [Stage]
    const schedules = [newSchedule(), newSchedule(), newSchedule()]
    for (const schedule of schedules) await stage.store.createSchedule(schedule)
    const firings = schedules.map((schedule, index) =>
      newFiring(schedule, [newSlot(schedule.scheduleId, NOW + HOUR, { name: index === 1 ? 'a\u0000b' : 'fine' })]),
    )

    await expect(stage.store.fireSlots(firings, NOW + HOUR)).rejects.toThrow(/U\+0000/)

    const jobs = await askDatabase<{ schedule_id: string }>('select schedule_id from pawl.jobs')
    const whole = schedules.map(({ scheduleId }) => scheduleId).filter((_, index) => index !== 1)
    expect(jobs.map(({ schedule_id }) => schedule_id).toSorted()).toEqual(whole.toSorted())
    expect(await stage.store.findSchedule(schedules[1]?.scheduleId ?? '')).toEqual(schedules[1])
  })

  test('a change and a removal meet firings, and each slot still makes one Job at most', async () => {
    const stages = await openNodes(4)
    const [changer] = stages as [Stage]
    const schedule = newSchedule()
    const { scheduleId } = schedule
    await changer.store.createSchedule(schedule)

    for (let round = 1; round <= ROUNDS; round++) {
      const now = NOW + round * HOUR
      const current = (await changer.store.findSchedule(scheduleId)) as Schedule
      const name = `round ${round}`
      const changed = { ...current, name, lastSlotAt: now, nextSlotAt: now + HOUR, updatedAt: now }
      const firing = newFiring(current, [newSlot(scheduleId, now)])
      const [change] = await Promise.all([
        changer.store.changeSchedule({ firing, schedule: changed, now }),
        ...stages.map((stage) => fireDue(stage, now)),
        stages[1]?.store.triggerSchedule(scheduleId, newJob({ scheduleId }), now),
      ])
      const after = await changer.store.findSchedule(scheduleId)
      expect(after?.name === name).toBe(change.kind === 'fired')
      expect(after?.nextSlotAt).toBe(now + HOUR)
    }
    const now = NOW + (ROUNDS + 1) * HOUR
    await Promise.all([changer.store.removeSchedule(scheduleId), ...stages.map((stage) => fireDue(stage, now))])

    const [row] = await askDatabase<{ slots: number; jobs: number }>(
      `select count(distinct slot_at)::integer as slots, count(*)::integer as jobs
      from pawl.jobs
      where slot_at is not null and slot_at <= ${NOW + ROUNDS * HOUR}`,
    )
    expect(row).toEqual({ slots: ROUNDS, jobs: ROUNDS })
    expect(await askDatabase('select 1 from pawl.schedules')).toEqual([])
  })

  const LIVE_MAX: Readonly<Record<Exclude<OverlapPolicy, 'allow'>, number>> = { skip: 1, 'queue-one': 2 }
  for (const overlap of ['skip', 'queue-one'] as const) {
    test(`${overlap} holds while Jobs of earlier slots start and end`, async () => {
      const stages = await openNodes(4)
      const schedules = Array.from({ length: 4 }, () => newSchedule({ overlap }))
      for (const schedule of schedules) await stages[0]?.store.createSchedule(schedule)

      const results: FiringResult[] = []
      for (let round = 1; round <= ROUNDS; round++) {
        const now = NOW + round * HOUR
        const [fired] = await Promise.all([
          each(stages, (stage) => fireDue(stage, now)),
          // Fewer than are made: some are still live when the next slot comes.
          each(stages.slice(0, 2), async (stage) => {
            for (const job of await stage.claim({ now, limit: 1 })) await stage.finish(job)
          }),
        ])
        results.push(...fired.flat())
        const live = await askDatabase<{ chains: number }>(
          'select count(*)::integer as chains from pawl.scheduled_chains group by schedule_id',
        )
        for (const { chains } of live) expect(chains).toBeLessThanOrEqual(LIVE_MAX[overlap])
      }

      const fired = results.filter((result) => result.kind === 'fired')
      expect(fired).toHaveLength(schedules.length * ROUNDS)
      const [row] = await askDatabase<{ jobs: number; skipped: number }>(
        `select (select count(*) from pawl.jobs)::integer as jobs,
          (select coalesce(sum(slots), 0) from pawl.skipped_slots)::integer as skipped`,
      )
      expect((row?.jobs ?? 0) + (row?.skipped ?? 0)).toBe(schedules.length * ROUNDS)
      // What waits behind others starts when they have ended: nothing waits for ever.
      for (const stage of stages) {
        for (const job of await stage.claim({ now: NOW + 99 * HOUR })) await stage.finish(job)
      }
      for (const job of (await stages[0]?.claim({ now: NOW + 99 * HOUR })) ?? []) await stages[0]?.finish(job)
      expect(await askDatabase('select seq from pawl.queue')).toEqual([])
    })
  }

  test('no Job is made from a template whose archiving was acknowledged', async () => {
    const stages = await openNodes(3)
    const [archiver, firer, caller] = stages as [Stage, Stage, Stage]
    for (let round = 1; round <= ROUNDS; round++) {
      const template = newTemplate()
      const { templateId } = template
      await archiver.store.createTemplate(template)
      const schedule = newSchedule()
      await firer.store.createSchedule(schedule)
      const firing = newFiring(schedule, [newSlot(schedule.scheduleId, NOW + HOUR, { templateId })])
      let jobsWhenArchived: unknown
      await Promise.all([
        archiver.store.archiveTemplate(templateId, NOW).then(async () => {
          jobsWhenArchived = await askDatabase('select job_id from pawl.jobs where template_id = $1', templateId)
        }),
        firer.store.fireSlots([firing], NOW + HOUR),
        ...[1, 2, 3].map(() => caller.store.enqueueJobs([newJob({ templateId })], NOW)),
      ])
      const jobs = await askDatabase('select job_id from pawl.jobs where template_id = $1', templateId)
      expect(jobs).toEqual(jobsWhenArchived)
    }
  })
})

describe('deliveries that several nodes send at once', () => {
  const PER_ENDPOINT = 2

  /** All nodes take what they can at the same moment, and only then say that it arrived. Returns what was on its way. */
  async function sendAtOnce(stages: readonly Stage[]): Promise<Delivery[]> {
    const pages = await each(stages, (stage) => leasePage(stage, { limit: 5, perEndpoint: PER_ENDPOINT }))
    await each(stages, async (stage, index) => {
      const attempts = pages[index]?.leased.map((one) => attemptOf(one)) ?? []
      expect(await stage.store.recordDeliveryAttempts(attempts)).toEqual(attempts.map(() => 'recorded'))
    })
    return pages.flatMap(({ leased }) => leased.map(({ delivery }) => delivery))
  }

  test('each is sent by one node at a time, and an endpoint gets no more at once than it may', async () => {
    const stages = await openNodes(4)
    const [first] = stages as [Stage]
    const webhooks = [await subscribe(first), await subscribe(first), await subscribe(first)]
    await complete(first, 40)

    const sent: string[] = []
    while (sent.length < webhooks.length * 40) {
      const underWay = await sendAtOnce(stages)
      for (const { webhookId } of webhooks) {
        expect(underWay.filter((delivery) => delivery.webhookId === webhookId)).toHaveLength(PER_ENDPOINT)
      }
      sent.push(...underWay.map(({ deliveryId }) => deliveryId))
    }

    expect(new Set(sent).size).toBe(webhooks.length * 40)
    expect(await sendAtOnce(stages)).toEqual([])
    expect(await askDatabase("select 1 from pawl.deliveries where status <> 'DELIVERED' or attempts <> 1")).toEqual([])
  })

  test('what a dead node was sending is sent by the others, and what it still records changes nothing', async () => {
    const stages = await openNodes(3)
    const [dying, ...others] = stages as [Stage, ...Stage[]]
    await subscribe(dying)
    await complete(dying, 20)
    const { leased } = await leasePage(dying, { limit: 2, perEndpoint: PER_ENDPOINT })
    expect(leased).toHaveLength(2)

    const sent: string[] = []
    const [meanwhile] = await Promise.all([sendAtOnce(others), dying.store.removeNode(dying.nodeId, NOW + SECOND)])
    for (let underWay = meanwhile; sent.length < 20; underWay = await sendAtOnce(others)) {
      sent.push(...underWay.map(({ deliveryId }) => deliveryId))
    }

    expect(new Set(sent).size).toBe(20)
    expect(await dying.store.recordDeliveryAttempts(leased.map((one) => attemptOf(one)))).toEqual(['late', 'late'])
    expect((await leasePage(dying)).leased).toEqual([])
  })

  test('a webhook that is removed while deliveries to it are written, replayed and sent leaves none pending', async () => {
    const stages = await openNodes(4)
    const [finisher, remover, sender, replayer] = stages as [Stage, Stage, Stage, Stage]
    for (let round = 0; round < ROUNDS; round++) {
      const webhook = newWebhook({ events: ['job.settled'] })
      const { webhookId } = webhook
      await remover.store.createWebhook(webhook, SECRET)
      await complete(finisher, 2)
      const leased = (await leasePage(sender, { limit: 1 })).leased
      await sender.store.recordDeliveryAttempts(leased.map((one) => attemptOf(one)))
      await finisher.enqueue([newJob(), newJob(), newJob()])
      const jobs = await finisher.claim()
      const request = { webhookId, status: 'DELIVERED', since: null, limit: 10, cursor: null, now: NOW } as const
      await Promise.all([
        remover.store.removeWebhook(webhookId, NOW),
        ...jobs.map((job) => finisher.finish(job)),
        leasePage(sender).then((page) =>
          sender.store.recordDeliveryAttempts(
            page.leased.map((one) => attemptOf(one, { disableWebhook: 'it is gone' })),
          ),
        ),
        replayer.store.replayDeliveries(request),
        ...leased.map((one) => replayer.store.replayDelivery(one.delivery.deliveryId, NOW)),
      ])
      expect(await askDatabase("select delivery_id from pawl.deliveries where status = 'PENDING'")).toEqual([])
    }
  })
})

describe('what many nodes declare at once', () => {
  const shuffled = <Item>(items: readonly Item[], by: number): Item[] => [...items.slice(by), ...items.slice(0, by)]

  test('types and limits are declared by ten nodes in ten orders, and nobody fails', async () => {
    const stages = await openNodes(10)
    const names = Array.from({ length: 10 }, (_, index) => `type-${index}`)
    for (let round = 0; round < 10; round++) {
      const policy = newPolicy({ timeoutMs: 1_000 + round })
      const types = names.map((type) => ({ type, policy }))
      const limits = names.map((name) => ({ name: `resource:${name}-${round}`, max: 2 }))
      await each(stages, async ({ store }, index) => {
        await store.registerTypes(shuffled(types, index), NOW)
        await store.declareLimits(shuffled(limits, index))
      })
      const known = await stages[0]?.store.findTypes()
      expect(known?.toSorted((a, b) => (a.type < b.type ? -1 : 1))).toEqual(types)
      expect(await stages[0]?.store.listLimits()).toEqual(expect.arrayContaining(limits))
    }
  })

  test('one secret is made, one schedule of a name, and one key of a hash', async () => {
    const stages = await openNodes(10)
    const secrets = await each(stages, ({ store }, index) => store.declareDefaultSecret(`whsec_${index}`))
    expect(new Set(secrets).size).toBe(1)

    for (let round = 0; round < 5; round++) {
      const declared = await each(stages, ({ store }) => store.declareSchedule(`nightly ${round}`, newSchedule()))
      expect(new Set(declared.map(({ scheduleId }) => scheduleId)).size).toBe(1)
    }
    expect(await askDatabase('select 1 from pawl.schedules')).toHaveLength(5)

    const made = await each(stages, async ({ store }) => {
      const key = { keyId: newId(), name: 'ci', role: 'viewer', prefix: 'pawl_x', createdBy: null } as const
      const times = { createdAt: NOW, expiresAt: null, revokedAt: null }
      return store.createKey({ ...key, ...times }, 'f'.repeat(64)).then(
        () => 'made',
        () => 'refused',
      )
    })
    expect(made.filter((result) => result === 'made')).toHaveLength(1)
  })

  test('nothing that is counted while hours are added up is lost', async () => {
    const stages = await openNodes(5)
    const [folder, ...counters] = stages as [Stage, ...Stage[]]
    const PER_NODE = 40
    let isCounting = true
    const counting = each(counters, async (stage) => {
      for (let n = 0; n < PER_NODE; n++) {
        const at = NOW + (n % 5) * HOUR
        const [queued, running] = [newJob({ runAt: NOW + 99 * HOUR }), newJob()]
        await stage.enqueue([queued], at)
        await stage.cancel(queued.jobId, 'graceful', at)
        await stage.enqueue([running], at)
        for (const job of await stage.claim({ now: at, limit: 1 })) await stage.finish(job, { finishedAt: at })
      }
    }).finally(() => {
      isCounting = false
    })
    while (isCounting) await folder.store.foldHours({ nodesBefore: NOW + 3 * HOUR, hoursBefore: NOW + HOUR })
    await counting

    const finished = (await askDatabase('select 1 from pawl.runs where status is not null')).length
    const totals = await folder.store.readTotals()
    expect(totals).toMatchObject({ cancelled: counters.length * PER_NODE, completed: finished, executed: finished })
    await folder.store.foldHours({ nodesBefore: NOW + 9 * HOUR, hoursBefore: NOW + 9 * HOUR })
    expect(await folder.store.readTotals()).toEqual(totals)
    expect(await folder.store.listHours(0, 100)).toHaveLength(1)
  })
})
