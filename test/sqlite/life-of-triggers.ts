// What makes and connects Jobs, and what tells the world, lived through once: part of the life whose statements are explained.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type AnyJobType, defineJob, type StoreSource } from 'pawl'
import type { SettableClock, TestScheduler } from 'pawl/testing'

type Store = Awaited<ReturnType<StoreSource['open']>>

/** The types that this part of the life needs, besides `quick` and `failing`. */
export function triggerTypes(clock: SettableClock): AnyJobType[] {
  return [
    defineJob({
      type: 'lingering',
      timeoutMs: 1_000,
      run: () => new Promise<void>((resolve) => clock.after(4_000, resolve)),
    }),
    defineJob({ type: 'slow', run: () => new Promise<void>((resolve) => clock.after(3_000, resolve)) }),
    defineJob({
      type: 'child',
      module: new URL('../isolation/fixtures/handler.mjs', import.meta.url),
      isolation: 'process',
    }),
  ]
}

export async function liveWithTriggers(stage: TestScheduler, store: Store, clock: SettableClock): Promise<void> {
  const receiver = await openReceiver()
  try {
    await useTemplatesAndSchedules(stage)
    await useDependencies(stage, store)
    await useGroups(stage, store, clock)
    await runDirectly(stage, store, clock)
    await askWhy(stage)
    await tellTheWorld(stage, store, clock, receiver.url)
  } finally {
    receiver.server.close()
  }
}

async function useTemplatesAndSchedules(stage: TestScheduler): Promise<void> {
  const { scheduler } = stage
  const template = await scheduler.templates.create({ name: 'report', type: 'quick', defaultParams: { a: 1 } })
  await scheduler.templates.change(template.templateId, { description: 'daily' })
  await scheduler.enqueueTemplate(template.templateId, { b: 2 })
  const old = await scheduler.templates.create({ name: 'old', type: 'quick', defaultParams: {} })
  await scheduler.templates.archive(old.templateId)
  await scheduler.templates.archive('none').catch(() => {})
  await scheduler.templates.change(old.templateId, { description: 'x' }).catch(() => {})

  const every = { type: 'quick', everyMs: 1_000 } as const
  const templateId = template.templateId
  const schedules = [
    await scheduler.schedules.create({ name: 'plain', ...every }),
    await scheduler.schedules.create({ name: 'failing', ...every, type: 'failing' }),
    await scheduler.schedules.declare({ name: 'doomed', templateId, everyMs: 2_000 }),
    await scheduler.schedules.create({ name: 'of a template', templateId, cron: '*/5 * * * * *' }),
    await scheduler.schedules.create({ name: 'skip', ...every, type: 'slow', overlap: 'skip' }),
    await scheduler.schedules.create({ name: 'one', ...every, type: 'slow', overlap: 'queue-one', missed: 'none' }),
    await scheduler.schedules.create({ name: 'keyed', ...every, type: 'slow', businessKey: 'scheduled' }),
  ] as const
  const [plain, failing, doomed] = schedules
  await stage.advance('8s')
  await scheduler.schedules.trigger(plain.scheduleId)
  const failed = await scheduler.schedules.trigger(failing.scheduleId)
  await scheduler.schedules.change(plain.scheduleId, { everyMs: 5_000 })
  await scheduler.templates.archive(template.templateId)
  await stage.advance('5s')
  // Slots are missed while nobody claims, then the clock is set back.
  const stopped = scheduler.stop(0)
  stage.clock.set(stage.clock.now() + 600_000)
  await stopped
  await scheduler.start()
  await stage.runUntilIdle()
  stage.clock.set(stage.clock.now() - 3_600_000)
  await stage.advance('6s')
  stage.clock.set(stage.clock.now() + 3_600_000)
  await stage.runUntilIdle()
  for (const { scheduleId } of schedules) await scheduler.schedules.disable(scheduleId)
  await stage.advance('5m')
  const { jobId } = await scheduler.settled(failed.jobId)
  await scheduler.retry(jobId)
  await scheduler.schedules.remove(doomed.scheduleId)
}

async function useDependencies(stage: TestScheduler, store: Store): Promise<void> {
  const { scheduler } = stage
  const made = await scheduler.enqueueGraph({
    top: { type: 'quick', params: null },
    left: { type: 'quick', params: null, dependsOn: ['top'] },
    right: { type: 'quick', params: null, dependsOn: ['top'] },
    bottom: { type: 'quick', params: null, dependsOn: ['left', 'right'] },
  })
  await made.bottom.settled()
  await store.findParentResults(made.bottom.jobId)
  await scheduler.enqueue('quick', null, { dependsOn: ['none'] }).catch(() => {})

  const parent = await scheduler.enqueue('failing', null, { retry: { maxRetries: 1 } })
  const children = await scheduler.enqueueMany(
    Array.from({ length: 700 }, (_, n) => ({
      type: 'quick',
      params: n,
      dependsOn: [parent.jobId],
      onParentFailure: (['cancel', 'run', 'wait'] as const)[n % 3] as 'cancel',
    })),
  )
  const grandchild = await scheduler.enqueue('quick', null, { dependsOn: [children[0]?.jobId ?? ''] })
  await stage.advance('1m')
  await grandchild.settled()
  const { jobId } = await parent.settled()
  const alone = await scheduler.enqueue('quick', null, { dependsOn: [parent.jobId, jobId] })
  await scheduler.retry(alone.jobId)
  await scheduler.retry(jobId, { dependents: true })
  await scheduler.retry(grandchild.jobId).catch(() => {})
  await stage.advance('5m')
}

async function useGroups(stage: TestScheduler, store: Store, clock: SettableClock): Promise<void> {
  const { scheduler } = stage
  const members = (count: number, type = 'quick') => Array.from({ length: count }, () => ({ type, params: null }))
  for (const mode of ['parallel', 'sequential'] as const) {
    for (const onFailure of ['stop', 'continue', 'skip'] as const) {
      const group = await scheduler.groups.create({
        mode,
        onFailure,
        jobs: [{ type: 'failing', params: null, retry: { maxRetries: 0 } }, ...members(mode === 'parallel' ? 3 : 200)],
      })
      await stage.advance('10s')
      await group.settled()
      await scheduler.retry(group.jobs[0]?.jobId ?? '').catch(() => {})
      await scheduler.retry(group.jobs[2]?.jobId ?? '').catch(() => {})
    }
  }
  const stopped = await scheduler.groups.create({
    mode: 'sequential',
    jobs: [{ type: 'failing', params: null, retry: { maxRetries: 0 } }, ...members(500)],
  })
  await stopped.jobs[0]?.settled()
  await scheduler.retry(stopped.jobs[0]?.jobId ?? '', { dependents: true })
  const waited = stopped.settled()
  await scheduler.groups.create({ jobs: members(1, 'failing') })
  await stage.advance('2m')
  await waited
  const slow = await scheduler.groups.create({ onFailure: 'continue', jobs: members(200, 'slow') })
  await stage.runUntilIdle()
  await scheduler.cancel(slow.jobs[199]?.jobId ?? '')
  await scheduler.retry(slow.jobs[199]?.jobId ?? '')
  await slow.cancel({ reason: 'enough' })
  await stage.advance('1m')
  await slow.settled()
  await slow.cancel().catch(() => {})
  await scheduler.groups.cancel('none').catch(() => {})
  const refused = { groupId: 'refused', name: null, mode: 'parallel', onFailure: 'stop', createdBy: null } as const
  const { jobId: _, params, ...job } = await scheduler.getJob(slow.jobs[0]?.jobId ?? '')
  await store.createGroup(
    refused,
    [
      {
        ...job,
        jobId: 'lost',
        params: JSON.stringify(params),
        runAt: null,
        idempotency: null,
        dependsOn: ['none'],
        onParentFailure: 'cancel',
      },
    ],
    clock.now(),
  )
}

async function runDirectly(stage: TestScheduler, store: Store, clock: SettableClock): Promise<void> {
  const { scheduler } = stage
  await scheduler.runDirect('quick', null)
  await scheduler.runDirect('quick', null, { onBusy: 'reject' })
  await scheduler.runDirect('child', { act: 'nothing' }).catch(() => {})
  const timedOut = scheduler.runDirect('lingering', null).catch(() => {})
  await stage.advance('10s')
  await timedOut
  await scheduler.setLimit('type:slow', 1)
  const running = scheduler.runDirect('slow', null)
  const waiting = scheduler.runDirect('slow', null)
  const impatient = scheduler.runDirect('slow', null, { waitTimeoutMs: 500 }).catch(() => {})
  await scheduler.runDirect('slow', null, { onBusy: 'reject' }).catch(() => {})
  await scheduler.enqueue('slow', null)
  await leaveADeadCaller(store, clock)
  await stage.advance('30s')
  await Promise.all([running, waiting, impatient])
  await stage.advance('2m')
  await store.countPrunableReservations({ endedBefore: clock.now() - 1, limit: 2, cursor: null })
  const { nextCursor } = await store.pruneReservations({ endedBefore: clock.now() - 1, limit: 2, cursor: null })
  await store.pruneReservations({ endedBefore: clock.now() - 1, limit: 2, cursor: nextCursor })
}

/** Jobs in every state are asked why: while they wait for limits, tickets, parents, predecessors and groups, and when they ended. */
async function askWhy(stage: TestScheduler): Promise<void> {
  const { scheduler } = stage
  const why = async (...jobs: readonly ({ readonly jobId: string } | undefined)[]) => {
    for (const job of jobs) await scheduler.why(job?.jobId ?? '')
  }
  const slow = await scheduler.enqueueMany(Array.from({ length: 20 }, () => ({ type: 'slow', params: null })))
  await stage.runUntilIdle()
  const direct = scheduler.runDirect('slow', null)
  await stage.runUntilIdle()
  await why(...slow)
  await scheduler.setLimit('type:slow', null)
  await stage.advance('10s')
  await direct

  const lingering = await scheduler.enqueue('lingering', null)
  await stage.advance('2s')
  await why(...(await scheduler.getChain(lingering.jobId)).items)
  await stage.advance('2m')

  const parent = await scheduler.enqueue('failing', null, { retry: { maxRetries: 0 } })
  const child = await scheduler.enqueue('quick', null, { dependsOn: [parent.jobId], onParentFailure: 'wait' })
  const grandchild = await scheduler.enqueue('quick', null, { dependsOn: [child.jobId] })
  const sister = await scheduler.enqueue('quick', null, { dependsOn: [parent.jobId] })
  await stage.runUntilIdle()
  await why(parent, child, grandchild, sister)
  const members = Array.from({ length: 3 }, () => ({ type: 'slow', params: null }))
  const group = await scheduler.groups.create({ mode: 'sequential', jobs: members })
  await stage.runUntilIdle()
  await why(...group.jobs)
  await stage.advance('30s')
  await why(...group.jobs)
}

/** Tickets of a node that is gone, and bodies that it left. */
async function leaveADeadCaller(store: Store, clock: SettableClock): Promise<void> {
  const now = clock.now()
  const node = { name: 'dead', host: 'h', pid: 1, types: ['quick'], concurrency: 3, startedAt: now, claims: true }
  await store.registerNode({ ...node, nodeId: 'dead-caller' })
  const policy = {
    retry: { maxRetries: 0, maxCrashRetries: 0, backoff: { kind: 'none' } },
    timeoutMs: null,
    resources: [],
  } as const
  const ticket = { type: 'slow', params: 'null', policy, callerNodeId: 'dead-caller', createdBy: null } as const
  await store.openTicket({ ...ticket, reservationId: 'r1', onBusy: 'wait' }, now)
  await store.openTicket({ ...ticket, reservationId: 'r2', onBusy: 'reject' }, now)
  await store.renewTickets(['r1'], now)
  const claimed = { claim: { reservationId: 'r1', nodeId: 'dead-caller', ref: 0 }, startedAt: now, ...ticket }
  const outcome = { status: 'SKIPPED', message: '' } as const
  await store.finishDirectRuns([{ ticket: claimed, outcome, finishedAt: now, followUps: [], body: 'ended' }])
  await store.expireTickets(now - 1, now)
  await store.expireTicketsOf('dead-caller', now)
  await store.releaseTicket('r1', 'caller-gone', now)
  await store.setNodeClaims('dead-caller', false)
}

async function tellTheWorld(stage: TestScheduler, store: Store, clock: SettableClock, url: string): Promise<void> {
  const { scheduler } = stage
  const good = await scheduler.webhooks.create({ url: `${url}/good` })
  const bad = await scheduler.webhooks.create({ url: `${url}/bad`, events: ['job.run.completed'], jobTypes: ['quick'] })
  const gone = await scheduler.webhooks.create({ url: `${url}/gone` })
  await scheduler.webhooks.change(bad.webhookId, { name: 'bad' })
  const { secret: _, ...changed } = bad
  await store.changeWebhook({ webhook: changed, now: clock.now() })
  await scheduler.webhooks.rotateSecret(good.webhookId)
  await scheduler.webhooks.defaultSecret()
  await scheduler.webhooks.rotateDefaultSecret()
  await scheduler.enqueueMany(
    Array.from({ length: 60 }, () => ({ type: 'quick', params: null, webhookUrl: `${url}/own` })),
  )
  await stage.advance('2m')
  await scheduler.webhooks.remove(gone.webhookId)
  const { items } = await scheduler.webhooks.deliveries({ webhookId: bad.webhookId })
  await scheduler.webhooks.replay(items[0]?.deliveryId ?? '')
  await scheduler.webhooks.replay(items[0]?.deliveryId ?? '').catch(() => {})
  await scheduler.webhooks.replayAll(bad.webhookId, { status: 'FAILED' })
  await scheduler.webhooks.replayAll(good.webhookId, { status: 'DELIVERED', since: clock.now() - 60_000 })
  await stage.advance('2m')
  await store.releaseDeliveries(scheduler.nodeId, clock.now())
  await scheduler.webhooks.remove(good.webhookId)
  await scheduler.webhooks.remove(bad.webhookId)
}

async function openReceiver(): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer((request, response) => {
    request.resume()
    response.statusCode = request.url === '/bad' ? 500 : request.url === '/gone' ? 410 : 200
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** What people ask for: pages of lists. */
export async function readTriggers(store: Store, now: number): Promise<void> {
  const walk = async (list: (cursor: string | null) => Promise<{ readonly nextCursor: string | null }>) => {
    const { nextCursor } = await list(null)
    if (nextCursor !== null) await list(nextCursor)
  }
  for (const state of ['active', 'archived', 'any'] as const) {
    await walk((cursor) => store.listTemplates({ state, limit: 1, cursor }))
  }
  for (const enabled of [{}, { enabled: true }, { enabled: false }]) {
    await walk((cursor) => store.listSchedules({ ...enabled, limit: 1, cursor }))
  }
  await walk((cursor) => store.listGroups({ limit: 1, cursor }))
  await store.listGroups({ limit: 1, cursor: '019' })
  await walk((cursor) => store.listWebhooks({ limit: 1, cursor }))
  for (const status of [undefined, 'WAITING', 'RUNNING', 'RELEASED', 'EXPIRED'] as const) {
    await walk((cursor) => store.listReservations({ ...(status === undefined ? {} : { status }), limit: 1, cursor }))
  }
  const [group] = (await store.listGroups({ limit: 1 })).items
  await store.findSettledGroups([group?.groupId ?? ''])
  const [webhook] = (await store.listWebhooks({ limit: 1 })).items
  const [delivery] = (await store.listDeliveries({ limit: 1 })).items
  const { items: schedules } = await store.listSchedules({ limit: 20 })
  for (const { scheduleId } of schedules) await walk((cursor) => store.listSkippedSlots(scheduleId, 1, cursor))
  const links = [{ groupId: group?.groupId ?? '' }, { scheduleId: schedules[0]?.scheduleId ?? '' }, { templateId: 't' }]
  for (const link of links) {
    for (const status of [undefined, 'QUEUED', 'RUNNING', 'FINISHED', 'CANCELLED'] as const) {
      const filter = { ...link, ...(status === undefined ? {} : { status }) }
      await walk((cursor) => store.listJobs({ ...filter, limit: 1, cursor }, now))
    }
  }
  for (const filter of [{}, { webhookId: webhook?.webhookId ?? '' }, { jobId: delivery?.jobId ?? '' }]) {
    for (const status of [undefined, 'PENDING', 'DELIVERED', 'FAILED'] as const) {
      const options = { ...filter, ...(status === undefined ? {} : { status }), limit: 1 }
      await walk((cursor) => store.listDeliveries({ ...options, cursor }))
    }
  }
}
