import assert from 'node:assert/strict'
import type { EventRow } from '../events.ts'
import type { Store } from '../store.ts'
import { NOW, newId, newJob } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'

export function testSubscribe({ test, testShared }: Kit): void {
  test('a listener gets the row of each commit of its own store, as it was written', async (stage) => {
    const { rows, seen } = listen(stage.store)
    const [first] = await stage.enqueue([newJob()])
    await stage.claim()
    await seen((row) => row.transitions.some(({ kind, jobId }) => kind === 'job.started' && jobId === first))
    assertSame(rows, await stage.readEvents(0, 10))
  })

  test('every listener is told, and one that stopped is not', async (stage) => {
    const [one, two] = [listen(stage.store), listen(stage.store)]
    await stage.enqueue([newJob()])
    await Promise.all([one.seen(() => true), two.seen(() => true)])
    one.stop()
    const [second] = await stage.enqueue([newJob()])
    await two.seen((row) => row.transitions.some(({ jobId }) => jobId === second))
    assert.equal(one.rows.length, 1)
    assert.equal(two.rows.length, 2)
  })

  test('a refused call commits nothing and tells nothing', async (stage) => {
    const { rows, seen } = listen(stage.store)
    await stage.cancel(newId())
    await stage.store.moveJob({ jobId: newId(), target: { to: 'front' }, now: NOW })
    const [last] = await stage.enqueue([newJob()])
    await seen((row) => row.transitions.some(({ jobId }) => jobId === last))
    assert.equal(rows.length, 1)
  })

  testShared('a commit of another store object is noticed, and its rows can be read', async (stage, other) => {
    const { changedElsewhere } = listen(stage.store)
    const [jobId] = await other.enqueue([newJob()])
    await changedElsewhere()
    const rows = await stage.readEvents(0, 10)
    assertSame(
      rows.map(({ transitions }) => transitions.map((transition) => transition.jobId)),
      [[jobId]],
    )
  })
}

interface Listening {
  /** The rows of its own commits so far. */
  readonly rows: readonly EventRow[]
  /** Waits for a row like this one, whether it came already or not. */
  seen(like: (row: EventRow) => boolean): Promise<void>
  changedElsewhere(): Promise<void>
  stop(): void
}

/** Turns of the event loop, about ten seconds of them, after which a signal counts as missing. */
const TURNS_MAX = 5_000_000

function listen(store: Store): Listening {
  const rows: EventRow[] = []
  let isChangedElsewhere = false
  const stop = store.subscribe((signal) => {
    if (signal.kind === 'committed') rows.push(signal.row)
    else isChangedElsewhere = true
  })
  // A store must not keep a process alive only to listen, so the test does, until the signal has come.
  const until = async (holds: () => boolean) => {
    for (let turn = 0; turn < TURNS_MAX; turn++) {
      if (holds()) return
      await new Promise((resolve) => setImmediate(resolve))
    }
    assert.fail('no signal came')
  }
  return {
    rows,
    seen: (like) => until(() => rows.some(like)),
    changedElsewhere: () => until(() => isChangedElsewhere),
    stop,
  }
}
