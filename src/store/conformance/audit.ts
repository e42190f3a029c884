import assert from 'node:assert/strict'
import type { AuditEntry, AuditFilter, AuditNote } from '../audit.ts'
import type { StoreSignal } from '../events.ts'
import type { NewGroup } from '../groups.ts'
import { newHash, newKey } from './api-keys.ts'
import { failed, HOUR, NOW, newId, newIds, newJob, newJobs, newRetry } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import { Stage } from './stage.ts'

export function testAudit({ test, testShared, testReopened, testTransaction, testBackup }: Kit): void {
  test('what somebody makes leaves a note that names it', async (stage) => {
    const job = newJob()
    const details = '{"priority":0}'
    const note = newNote({ action: 'job.enqueue', made: () => [job.jobId], details: () => details })
    await stage.store.audited(note).enqueueJobs([job], NOW)
    const [entry, ...rest] = await audit(stage)
    assertSame(rest, [])
    assertSame(entry, {
      auditId: entry?.auditId,
      at: NOW,
      actor: 'key:ada',
      action: 'job.enqueue',
      subject: job.jobId,
      others: 0,
      details,
    })
  })

  test('what somebody changes leaves a note of what it was asked of', async (stage) => {
    const [jobId] = await stage.enqueue([newJob()])
    const note = newNote({ action: 'job.cancel', subject: jobId, at: NOW + 7 })
    await stage.store.audited(note).cancelJob({ jobId, mode: 'graceful', reason: null, now: NOW })
    const [entry] = await audit(stage)
    const { at, subject, others, details } = entry ?? {}
    assertSame({ at, subject, others, details }, { at: NOW + 7, subject: jobId, others: 0, details: null })
  })

  test('whatever can be asked for leaves one note', async (stage) => {
    const [a, b] = await stage.enqueue([newJob(), newJob(), newJob()])
    const { store } = stage
    const key = newKey()
    const asked: Record<string, (view: Stage['store']) => Promise<unknown>> = {
      move: (view) => view.moveJob({ jobId: a, target: { after: b }, now: NOW }),
      reprioritise: (view) => view.reprioritiseJob({ jobId: a, priority: 3, now: NOW }),
      edit: (view) => view.editJob({ jobId: a, edit: { params: '1' }, expected: null, now: NOW }),
      limit: (view) => view.setLimit('running', 4),
      createKey: (view) => view.createKey(key, newHash()),
      revokeKey: (view) => view.revokeKey(key.keyId, NOW),
    }
    for (const [action, ask] of Object.entries(asked)) await ask(store.audited(newNote({ action })))
    assertSame(
      (await audit(stage)).map(({ action }) => action),
      Object.keys(asked).toReversed(),
    )
  })

  test('what changes nothing leaves no note', async (stage) => {
    const keyed = newJob({ idempotency: { key: 'k', fingerprint: 'f' } })
    const [jobId] = await stage.enqueue([keyed])
    const running = (await stage.start(newJob({ type: 'poem' }))).claim.jobId
    const view = stage.store.audited(newNote({ made: () => ['never'] }))
    const again = { ...newJob(), idempotency: keyed.idempotency }
    const lost = { ...newJob(), idempotency: { key: 'k', fingerprint: 'other' } }
    await stage.changesNothing(async () => {
      await view.enqueueJobs([again], NOW)
      await view.enqueueJobs([lost], NOW)
      await view.cancelJob({ jobId: newId(), mode: 'abort', reason: null, now: NOW })
      await view.editJob({ jobId: running, edit: { priority: 1 }, expected: null, now: NOW })
      await view.editJob({ jobId, edit: { priority: 1 }, expected: 'stale', now: NOW })
      await view.editJob({ jobId, edit: { priority: 0 }, expected: null, now: NOW })
      await view.reprioritiseJob({ jobId, priority: 0, now: NOW })
      await view.revokeKey(newId(), NOW)
      await view.findJob(jobId, NOW)
      await view.listQueue(10, NOW)
    })
  })

  test('a write that fails leaves no note, and those beside it leave theirs', async (stage) => {
    const hash = newHash()
    await stage.store.createKey(newKey(), hash)
    const act = (action: string, store = stage.store.audited(newNote({ action }))) => store.createKey(newKey(), hash)
    const [fine, lost] = [newJob(), newJob()]
    const results = await Promise.allSettled([
      stage.store.audited(newNote({ action: 'fine', made: () => [fine.jobId] })).enqueueJobs([fine], NOW),
      act('lost'),
      stage.store.audited(newNote({ action: 'also fine', made: () => [lost.jobId] })).enqueueJobs([lost], NOW),
    ])
    assertSame(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    const entries = (await audit(stage)).toSorted((a, b) => (a.action < b.action ? -1 : 1))
    assertSame(
      entries.map(({ action, subject, others }) => [action, subject, others]),
      [
        ['also fine', lost.jobId, 0],
        ['fine', fine.jobId, 0],
      ],
    )
  })

  test('of writes that share a commit, each has its own note, and what nobody audits has none', async (stage) => {
    const jobs = newJobs(40)
    await Promise.all(
      jobs.map((job, index) => {
        const { jobId } = job
        const note = newNote({ actor: `key:${index % 4}`, made: () => [jobId] })
        const store = index % 4 === 0 ? stage.store : stage.store.audited(note)
        return store.enqueueJobs([job], NOW)
      }),
    )
    const entries = await audit(stage)
    assert.equal(entries.length, 30)
    const actors = jobs.map(({ jobId }) => entries.find(({ subject }) => subject === jobId)?.actor ?? null)
    assertSame(
      actors,
      jobs.map((_, index) => (index % 4 === 0 ? null : `key:${index % 4}`)),
    )
  })

  test('of many that were made the first is named and the others are counted', async (stage) => {
    const jobs = newJobs(3)
    const ids = jobs.map(({ jobId }) => jobId)
    await stage.store.audited(newNote({ made: () => ids })).enqueueJobs(jobs, NOW)
    const group: NewGroup = { groupId: newId(), name: null, mode: 'parallel', onFailure: 'stop', createdBy: null }
    const members = newJobs(2)
    const made = () => [group.groupId, ...members.map(({ jobId }) => jobId)]
    await stage.store.audited(newNote({ made })).createGroup(group, members, NOW)
    assertSame(
      (await audit(stage)).map(({ subject, others }) => [subject, others]),
      [
        [group.groupId, 2],
        [ids[0], 2],
      ],
    )
  })

  test('ids that came to nothing are neither named nor counted', async (stage) => {
    const idempotency = { key: 'k', fingerprint: 'f' }
    await stage.enqueue([newJob({ idempotency })])
    const jobs = [newJob({ idempotency }), newJob(), newJob()]
    const ids = jobs.map(({ jobId }) => jobId)
    const told: (readonly string[])[] = []
    const details = (made: readonly string[]) => {
      told.push(made)
      return null
    }
    await stage.store.audited(newNote({ made: () => ids, details })).enqueueJobs(jobs, NOW)
    const [entry] = await audit(stage)
    assertSame([entry?.subject, entry?.others], [ids[1], 1])
    assertSame(told, [ids.slice(1)])
  })

  test('a retry by hand names the Job it was asked of, and counts those it made', async (stage) => {
    const job = await stage.start()
    await stage.finish(job, { outcome: failed(), retry: newRetry({ runAt: NOW + HOUR }) })
    const { jobId } = job.claim
    const retryAudited = async (id: string) => {
      const newJobId = newId()
      const note = newNote({ action: 'job.retry', subject: id, made: () => [newJobId], details: JSON.stringify })
      const view = stage.store.audited(note)
      const result = await view.retryByHand({ by: { jobId: id }, newJobId, priority: null, now: NOW })
      const [entry] = await audit(stage)
      return { result: result.kind, newJobId, entry: [entry?.subject, entry?.others, entry?.details] }
    }
    const due = await retryAudited(jobId)
    assertSame([due.result, due.entry], ['made-due', [jobId, 0, '[]']])
    const retried = await stage.claimOne()
    await stage.finish(retried, { outcome: failed() })
    const again = await retryAudited(retried.claim.jobId)
    assertSame([again.result, again.entry], ['created', [retried.claim.jobId, 1, JSON.stringify([again.newJobId])]])
  })

  test('a note can be left by itself', async (stage) => {
    await stage.store.recordAudit(
      newNote({ action: 'scheduler.stop', subject: 'node-1', details: () => '{"timeout":3}' }),
    )
    const [entry] = await audit(stage)
    const { auditId: _, ...rest } = entry ?? {}
    assertSame(rest, {
      at: NOW,
      actor: 'key:ada',
      action: 'scheduler.stop',
      subject: 'node-1',
      others: 0,
      details: '{"timeout":3}',
    })
  })

  test('lists are newest first, by subject, by actor, by both or of all', async (stage) => {
    for (let index = 0; index < 12; index++) {
      await stage.store.recordAudit(
        newNote({ action: `a${index}`, actor: `key:${index % 2}`, subject: index % 3 === 0 ? null : `s${index % 3}` }),
      )
    }
    const actions = async (filter: Partial<AuditFilter>) =>
      (await readPages(stage, 2, filter)).map(({ action }) => action)
    assertSame(
      await actions({}),
      [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0].map((n) => `a${n}`),
    )
    assertSame(await actions({ actor: 'key:1' }), ['a11', 'a9', 'a7', 'a5', 'a3', 'a1'])
    assertSame(await actions({ subject: 's1' }), ['a10', 'a7', 'a4', 'a1'])
    assertSame(await actions({ subject: 's1', actor: 'key:1' }), ['a7', 'a1'])
    assertSame(await actions({ subject: 's1', actor: 'key:7' }), [])
    assertSame(await actions({ subject: 'nothing' }), [])
  })

  test('entries go by age, the oldest first, as many as asked', async (stage) => {
    for (const at of [NOW, NOW + HOUR, NOW + 1, NOW + 2, NOW + 3]) await stage.store.recordAudit(newNote({ at }))
    const ages = async () => (await audit(stage)).map(({ at }) => at - NOW).toSorted((a, b) => a - b)
    assert.equal(await stage.changesNothing(() => stage.store.countAudit(NOW + 3)), 3)
    assert.equal(await stage.store.pruneAudit(NOW + 3, 2), 2)
    assertSame(await ages(), [2, 3, HOUR])
    assert.equal(await stage.store.pruneAudit(NOW + 3, 2), 1)
    assert.equal(await stage.changesNothing(() => stage.store.pruneAudit(NOW + 3, 2)), 0)
    assertSame(await ages(), [3, HOUR])
  })

  testReopened('the number of an entry is never given again', async (stage, reopen) => {
    await stage.store.recordAudit(newNote())
    const [first] = await audit(stage)
    await stage.store.pruneAudit(NOW + 1, 10)
    const reopened = await reopen()
    await reopened.store.recordAudit(newNote())
    const [second] = await audit(reopened)
    assert.notEqual(second?.auditId, first?.auditId)
  })

  testShared('others read what was noted, in one order', async (stage, other) => {
    const jobs = newJobs(20)
    await Promise.all(
      jobs.map((job, index) =>
        (index % 2 ? stage : other).store.audited(newNote({ made: () => [job.jobId] })).enqueueJobs([job], NOW),
      ),
    )
    const entries = await audit(stage)
    assertSame(await audit(other), entries)
    assertSame(new Set(entries.map(({ subject }) => subject)), new Set(jobs.map(({ jobId }) => jobId)))
  })

  testTransaction(
    'a Job of the caller’s own transaction is noted if and only if the caller commits',
    async (stage, within) => {
      const [kept, lost] = newJobs(2)
      assert.ok(kept && lost)
      for (const [job, end] of [
        [kept, 'commit'],
        [lost, 'rollback'],
      ] as const) {
        const view = stage.store.audited(newNote({ made: () => [job.jobId] }))
        await within(end, (transaction) => view.enqueueJobsWithin(transaction, [job], NOW))
      }
      assertSame(
        (await audit(stage)).map(({ subject }) => subject),
        [kept.jobId],
      )
      assertSame(await stage.queue(), [kept.jobId])
    },
  )

  test('an audited store is the same store: it reads, tells and signals the same', async (stage) => {
    const view = stage.store.audited(newNote())
    const seen: StoreSignal[] = []
    const heard: StoreSignal[] = []
    const stops = [view.subscribe((signal) => seen.push(signal)), stage.store.subscribe((signal) => heard.push(signal))]
    const job = newJob()
    await view.enqueueJobs([job], NOW)
    await stage.enqueue([newJob()])
    for (const stop of stops) stop()
    assert.ok(seen.length > 0)
    assertSame(seen, heard)
    assertSame(await view.findJob(job.jobId, NOW), await stage.job(job.jobId))
    const rows = await stage.readEvents(0, 10)
    assertSame(await view.readEvents(0, 10), rows)
    assert.equal(view.description, stage.store.description)
    assert.equal(view.logDirectory, stage.store.logDirectory)
    assert.equal(view.liveness, stage.store.liveness)
  })

  testReopened('closing an audited store closes the store', async (stage, reopen) => {
    const view = stage.store.audited(newNote())
    const jobs = newJobs(2)
    const answers = jobs.map((job) => view.enqueueJobs([job], NOW))
    await view.close()
    await Promise.all(answers)
    await assert.rejects(async () => stage.store.enqueueJobs([newJob()], NOW))
    await assert.rejects(async () => view.enqueueJobs([newJob()], NOW))
    const reopened = await reopen()
    assert.equal((await audit(reopened)).length, 2)
  })

  testBackup('a copy has the notes too', async (stage, openBackup) => {
    await new Stage(stage.store.audited(newNote()), stage.nodeId).enqueue([newJob()])
    const copy = await openBackup()
    assertSame(await audit(copy), await audit(stage))
    assert.equal((await audit(copy)).length, 1)
  })

  test('ids are asked for when the note is written', async (stage) => {
    const job = await stage.start()
    await stage.finish(job, { outcome: failed() })
    const child = newJob({ dependsOn: [job.claim.jobId] })
    await stage.enqueue([child])
    const drawn = newIds(1)
    const draw = () => {
      const id = newId()
      drawn.push(id)
      return id
    }
    const { jobId } = job.claim
    await stage.store
      .audited(newNote({ subject: jobId, made: () => drawn }))
      .retryByHand({ by: { jobId }, newJobId: drawn[0] ?? '', priority: null, dependents: { newId: draw }, now: NOW })
    const [entry] = await audit(stage)
    assertSame([entry?.subject, entry?.others], [jobId, 2])
  })
}

function newNote(overrides: Partial<AuditNote> = {}): AuditNote {
  return {
    actor: 'key:ada',
    action: 'job.enqueue',
    subject: null,
    made: () => [],
    details: () => null,
    at: NOW,
    ...overrides,
  }
}

async function audit(stage: Stage): Promise<readonly AuditEntry[]> {
  return (await stage.store.listAudit({ limit: 200 })).items
}

async function readPages(stage: Stage, limit: number, filter: Partial<AuditFilter>): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = []
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<typeof stage.store.listAudit>> = await stage.store.listAudit({
      ...filter,
      limit,
      cursor,
    })
    assert.ok(page.items.length <= limit)
    entries.push(...page.items)
    cursor = page.nextCursor
  } while (cursor !== null)
  return entries
}
