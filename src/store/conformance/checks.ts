import assert from 'node:assert/strict'
import { DERIVED, type Finding } from '../checks.ts'
import type { Damage } from '../maintenance.ts'
import type { Store } from '../store.ts'
import { failed, HOUR, jobTaking, NOW, newJob, newJobs, newPolicy, newRetry, SECOND } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertNoFault } from './no-fault.ts'
import { assertSame } from './same.ts'
import type { Stage } from './stage.ts'

/** What the doctor asks. That nothing is found where nothing is wrong is shown after every test of the kit. */
export function testChecks({ test, testShared, testDamage }: Kit): void {
  test('every invariant is named once, with what holds, also when nothing is found', async ({ store }) => {
    const checked = await store.checkInvariants(NOW)
    const names = checked.map(({ invariant }) => invariant)
    assert.equal(new Set(names).size, names.length)
    for (const name of ['I3', 'I4', 'I5', 'I9', 'I10', 'I11', 'I12', 'I13', 'I14', 'I15', 'I16', 'I17']) {
      assert.ok(names.includes(name), `${name} is not looked at`)
    }
    for (const { title, findings } of checked) {
      assert.match(title, /^[A-Z].*\.$/)
      assertSame(findings, [])
    }
  })

  test('looking, and making anew what is right, changes nothing', async (stage) => {
    await liveALittle(stage)
    await stage.changesNothing(() => stage.store.checkInvariants(NOW))
    await stage.changesNothing(() => stage.store.readVitals(NOW))
    for (const what of DERIVED) {
      assert.equal(await stage.changesNothing(() => stage.store.rebuild(what, NOW)), 0)
    }
  })

  testShared('one state is read, whatever others write meanwhile', async (stage, other) => {
    await liveALittle(stage)
    let isOver = false
    const looking = Promise.all([assertNoFault(stage.store), assertNoFault(other.store)]).finally(() => {
      isOver = true
    })
    while (!isOver) {
      const job = await other.start(newJob({ tags: ['a', 'b'], businessKey: 'one' }))
      await other.finish(job, { outcome: failed(), retry: newRetry({ runAt: NOW }) })
      await other.finish(await other.claimOne({ now: NOW + SECOND }))
    }
    await looking
  })

  test('bodies are shown with what they take and how long they may', async (stage) => {
    const running = await stage.start(
      newJob({ policy: newPolicy({ resources: ['ink', 'paper'], timeoutMs: 5 * SECOND }) }),
    )
    const late = await stage.start(newJob({ type: 'poem', policy: newPolicy({ timeoutMs: null }) }))
    await stage.finish(late, { outcome: failed('timeout'), body: 'executing' })
    const { bodies } = await stage.store.readVitals(NOW)
    const both = { kind: 'job', nodeId: stage.nodeId, startedAt: NOW }
    assertSame(
      bodies.toSorted((a, b) => a.id.localeCompare(b.id)),
      [
        {
          ...both,
          id: running.claim.jobId,
          type: 'story',
          resources: ['ink', 'paper'],
          timeoutMs: 5_000,
          isEnded: false,
        },
        { ...both, id: late.claim.jobId, type: 'poem', resources: [], timeoutMs: null, isEnded: true },
      ],
    )
  })

  test('what is ready is shown by its kind, with the oldest; what is held back is not', async (stage) => {
    const [parent] = await stage.enqueue([jobTaking(['ink'])], NOW - HOUR)
    await stage.enqueue([newJob({ runAt: NOW + HOUR }), newJob({ dependsOn: [parent] })], NOW - HOUR)
    const [oldest] = await stage.enqueue([newJob({ type: 'poem', runAt: NOW - SECOND })], NOW - HOUR)
    await stage.enqueue(newJobs(2, { type: 'poem' }))
    const { readyLanes } = await stage.store.readVitals(NOW)
    assertSame(
      readyLanes.toSorted((a, b) => a.type.localeCompare(b.type)),
      [
        { type: 'poem', resources: [], count: 3, jobId: oldest, since: NOW - SECOND },
        { type: 'story', resources: ['ink'], count: 1, jobId: parent, since: NOW - HOUR },
      ],
    )
  })

  test('a Job that a parent held back is ready since the parent has settled', async (stage) => {
    const parent = await stage.start(newJob(), { now: NOW })
    const [child] = await stage.enqueue([newJob({ dependsOn: [parent.claim.jobId] })], NOW - HOUR)
    await stage.finish(parent, { finishedAt: NOW + SECOND })
    const { readyLanes } = await stage.store.readVitals(NOW + HOUR)
    assertSame(readyLanes, [{ type: 'story', resources: [], count: 1, jobId: child, since: NOW + SECOND }])
  })

  test('the latest instants are shown, and the schema', async (stage) => {
    await stage.enqueue([newJob()], NOW + HOUR)
    const { latestInstants, schema, cascades, dueDeliveries } = await stage.store.readVitals(NOW)
    assert.equal(Math.max(...latestInstants.map(({ at }) => at)), NOW + HOUR)
    assert.equal(schema.version, schema.latest)
    assertSame([cascades, dueDeliveries], [null, null])
  })

  const damages: Readonly<Record<Damage['kind'], string>> = {
    'run-missing': 'I5',
    'occupancy-missing': 'I5',
    'retry-missing': 'I4',
  }
  for (const [kind, invariant] of Object.entries(damages) as [Damage['kind'], string][]) {
    testDamage(`${kind} is found as ${invariant}, names its Job, and recovery is its remedy`, async (stage, damage) => {
      const job = await stage.start()
      if (kind === 'retry-missing') await stage.finish(job, { outcome: failed(), retry: newRetry() })
      await damage(kind, job.claim.jobId)
      const [found, ...others] = await findFaults(stage.store)
      assert.equal(others.length, 0)
      assertSame(
        [found?.invariant, found?.rows, found?.count, found?.remedy],
        [invariant, [job.claim.jobId], 1, 'recovery'],
      )
    })
  }
}

/** One Job in each state, and something that waits. */
async function liveALittle(stage: Stage): Promise<void> {
  const done = await stage.start(newJob({ tags: ['red'], businessKey: 'done' }))
  await stage.finish(done)
  const running = await stage.start(newJob({ businessKey: 'held' }))
  await stage.enqueue([
    newJob({ dependsOn: [running.claim.jobId], tags: ['red', 'blue'] }),
    newJob({ runAt: NOW + HOUR }),
  ])
  const unwanted = await stage.enqueue([newJob()])
  await stage.cancel(unwanted[0])
}

async function findFaults(store: Store): Promise<(Finding & { invariant: string })[]> {
  const checked = await store.checkInvariants(NOW)
  return checked.flatMap(({ invariant, findings }) => findings.map((finding) => ({ invariant, ...finding })))
}
