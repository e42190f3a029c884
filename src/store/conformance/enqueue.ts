import assert from 'node:assert/strict'
import { PRIORITY_MAX, PRIORITY_MIN } from '../../domain/job.ts'
import { PARAMS_BYTES_MAX } from '../../domain/json.ts'
import { asQueued, HOUR, jobTaking, NOW, newJob, newJobs, newPolicy } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'

export function testEnqueue({ test, testReopened }: Kit): void {
  test('a Job is QUEUED with everything it was given', async (stage) => {
    const job = newJob({
      type: 'poem',
      name: 'An ode',
      params: '{"lines":[1,2.5,null,true],"to":{"name":"Ünï 💾 \\"quoted\\""}}',
      priority: -7,
      policy: newPolicy({ timeoutMs: null, resources: ['gpu', 'ink'] }),
      tags: ['night', 'draft'],
      createdBy: 'mary',
      businessKey: 'ode-1',
      idempotency: { key: 'request-1', fingerprint: 'f1' },
    })
    await stage.enqueue([job])
    const stored = await stage.job(job.jobId)
    assertSame(stored, asQueued(job, stored.position))
  })

  test('a Job without anything optional reads back as such', async (stage) => {
    const job = newJob({ params: 'null' })
    await stage.enqueue([job])
    const stored = await stage.job(job.jobId)
    assertSame(stored, asQueued(job, stored.position))
    assert.ok(Number.isSafeInteger(stored.position))
  })

  test('the answer says where each Job stands', async (stage) => {
    const jobs = [newJob(), newJob({ priority: 3 }), newJob()]
    const result = await stage.store.enqueueJobs(jobs, NOW)
    assert.equal(result.kind, 'enqueued')
    for (const item of result.items) {
      assert.equal(item.kind, 'created')
      assert.equal((await stage.job(item.jobId)).position, item.position)
    }
  })

  test('a delayed Job is held until its time, which is not later than that instant', async (stage) => {
    const job = newJob({ runAt: NOW + HOUR })
    await stage.enqueue([job])
    const stored = await stage.job(job.jobId)
    assertSame(stored, asQueued(job, stored.position))
    assert.equal((await stage.job(job.jobId, NOW + HOUR - 1)).hold, 'delayed')
    assert.equal((await stage.job(job.jobId, NOW + HOUR)).hold, null)
  })

  test('a list is accepted in its order', async (stage) => {
    const ids = await stage.enqueue(newJobs(50))
    assertSame(await stage.queue(), ids)
  })

  test('an empty list is accepted, and nothing happens', async (stage) => {
    const result = await stage.changesNothing(() => stage.store.enqueueJobs([], NOW))
    assertSame(result, { kind: 'enqueued', items: [] })
  })

  test('the smallest and the largest priority are kept', async (stage) => {
    const [low, high] = [newJob({ priority: PRIORITY_MIN }), newJob({ priority: PRIORITY_MAX })]
    await stage.enqueue([low, high])
    assert.equal((await stage.job(low.jobId)).priority, PRIORITY_MIN)
    assert.equal((await stage.job(high.jobId)).priority, PRIORITY_MAX)
    assertSame(await stage.queue(), [high.jobId, low.jobId])
  })

  test('params as large as allowed are kept', async (stage) => {
    const text = 'ä'.repeat((PARAMS_BYTES_MAX - 2) / 2)
    const job = newJob({ params: JSON.stringify(text) })
    await stage.enqueue([job])
    assert.equal((await stage.job(job.jobId)).params, text)
    assert.equal(JSON.parse((await stage.claimOne()).params), text)
  })

  test('a conflict in a list refuses the whole list', async (stage) => {
    const [holder] = await stage.enqueue([newJob({ businessKey: 'taken' })])
    const list = [newJob(), newJob({ businessKey: 'free', idempotency: { key: 'k', fingerprint: 'f' } })]
    const refused = await stage.changesNothing(() =>
      stage.store.enqueueJobs([...list, newJob({ businessKey: 'taken' })], NOW),
    )
    assertSame(refused, {
      kind: 'refused',
      conflict: { kind: 'business-key-taken', index: 2, jobId: holder },
    })
    // The keys of the refused list were not taken either.
    await stage.enqueue(list)
  })

  test('concurrent calls are all accepted, each in its own order', async (stage) => {
    const lists = Array.from({ length: 40 }, () => newJobs(3))
    await Promise.all(lists.map((list) => stage.enqueue(list)))
    const queue = await stage.queue()
    assert.equal(queue.length, 120)
    for (const list of lists) {
      const places = list.map(({ jobId }) => queue.indexOf(jobId))
      assertSame(
        places,
        places.toSorted((a, b) => a - b),
      )
    }
  })

  test('a conflict in one of many concurrent calls is that call’s alone', async (stage) => {
    await stage.enqueue([newJob({ businessKey: 'taken' })])
    const jobs = Array.from({ length: 30 }, (_, index) => newJob({ businessKey: index === 7 ? 'taken' : null }))
    const results = await Promise.all(jobs.map((job) => stage.store.enqueueJobs([job], NOW)))
    results.forEach((result, index) => {
      assert.equal(result.kind, index === 7 ? 'refused' : 'enqueued')
    })
    assert.equal((await stage.queue()).length, 30)
  })

  test('a Job id that exists already fails its own call, and no concurrent one', async (stage) => {
    const first = newJob({ name: 'the first' })
    await stage.enqueue([first])
    // Types and policies that are new in this very moment, so that a store that remembers them must not remember wrongly.
    const [poem, song] = [
      newJob({ type: 'poem', policy: newPolicy({ timeoutMs: 1 }) }),
      jobTaking(['ink'], { type: 'song' }),
    ]
    const jobs = [poem, newJob({ jobId: first.jobId, name: 'the second' }), song]
    const results = await Promise.allSettled(jobs.map((job) => stage.enqueue([job])))
    assertSame(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    assert.equal((await stage.job(first.jobId)).name, 'the first')
    for (const job of [poem, song]) {
      const stored = await stage.job(job.jobId)
      assertSame(stored, asQueued(job, stored.position))
    }
    assert.equal((await stage.queue()).length, 3)
  })

  test('a text with U+0000 is kept as it is or fails its own call, and no concurrent one', async (stage) => {
    const odd = newJob({ name: 'a\u0000b', params: '"a\\u0000b"' })
    const results = await Promise.allSettled([newJob(), odd, newJob()].map((job) => stage.enqueue([job])))
    assert.equal(results[0]?.status, 'fulfilled')
    assert.equal(results[2]?.status, 'fulfilled')
    const stored = await stage.store.findJob(odd.jobId, NOW)
    if (results[1]?.status === 'rejected') return assert.equal(stored, null)
    assert.equal(stored?.name, 'a\u0000b')
    assert.equal(stored?.params, 'a\u0000b')
  })

  testReopened('what was accepted is there after the store was closed and opened again', async (stage, reopen) => {
    const job = newJob({ businessKey: 'b', idempotency: { key: 'k', fingerprint: 'f' } })
    await stage.enqueue([job])
    const stored = await stage.job(job.jobId)
    const reopened = await reopen()
    assertSame(await reopened.job(job.jobId), stored)
    assertSame(await reopened.queue(), [job.jobId])
    const again = await reopened.store.enqueueJobs([newJob({ businessKey: 'b' })], NOW)
    assert.equal(again.kind, 'refused')
  })
}
