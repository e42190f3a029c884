/// <reference lib="esnext.disposable" />
import { openScheduler } from '../library/open-scheduler.ts'
import type { Scheduler } from '../library/scheduler.ts'
import type { SchedulerOptions } from '../library/scheduler-options.ts'
import { sqlite } from '../stores/sqlite/index.ts'
import { type Duration, toMs } from './duration.ts'
import { SettableClock } from './settable-clock.ts'
import { WatchedSource } from './watched-source.ts'

export interface TestSchedulerOptions extends Omit<SchedulerOptions, 'store' | 'clock'> {
  /** @default a new database in memory */
  readonly store?: SchedulerOptions['store']
  /** @default a clock that stands at the beginning of 2026 */
  readonly clock?: SettableClock
  /**
   * How long, in real time, a body may do nothing visible before it counts as waiting for the virtual clock. Raise it
   * when handlers under test do slow I/O.
   * @default 25
   */
  readonly patienceMs?: number
}

/** A scheduler on a virtual clock, started, for tests of your handlers and their retries and timeouts. */
export interface TestScheduler extends AsyncDisposable {
  readonly scheduler: Scheduler
  readonly clock: SettableClock
  /** Executes everything that is due, without moving the clock. */
  runUntilIdle(): Promise<void>
  /** Moves the clock on, and executes everything that becomes due on the way, at its instant. */
  advance(duration: Duration): Promise<void>
  close(): Promise<void>
}

/** Opens and starts a scheduler on a virtual clock. */
export async function openTestScheduler(options: TestSchedulerOptions = {}): Promise<TestScheduler> {
  const { patienceMs = 25, clock = new SettableClock(), store = sqlite(':memory:'), ...rest } = options
  const watched = new WatchedSource(store)
  const scheduler = await openScheduler({ ...rest, store: watched, clock })
  await scheduler.start()
  const settle = () => becomeStill(scheduler, watched, patienceMs)
  const advanceTo = async (target: number): Promise<void> => {
    await settle()
    for (;;) {
      const next = clock.nextTimerAt()
      if (next === null || next > target) break
      clock.set(next)
      await settle()
    }
    clock.set(target)
    await settle()
  }
  const close = async (): Promise<void> => {
    const closed = scheduler.close()
    let isClosed = false
    const done = closed.finally(() => {
      isClosed = true
    })
    // Awaited below; a close that fails before that must not count as unhandled.
    done.catch(() => {})
    // Closing waits on the clock for bodies that do not end; nobody else moves it now.
    while (!isClosed) {
      await settle()
      const next = clock.nextTimerAt()
      if (!isClosed && next !== null) clock.set(next)
    }
    await done
  }
  return {
    scheduler,
    clock,
    runUntilIdle: settle,
    advance: (duration) => advanceTo(clock.now() + toMs(duration)),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Turns of the event loop without anything under way after which nothing more is to come. */
const STILL_TURNS = 8

/** A call to the store is waited for, but not one that hangs: then it is what the test is about. */
const CALL_PATIENCE_MS = 5_000

/**
 * Waits until nothing moves any more without the clock. With no body and no call to the store under way a few turns of the
 * event loop show that; a body that executes may wait for real I/O, so it gets a moment of real time.
 */
async function becomeStill(scheduler: Scheduler, store: WatchedSource, patienceMs: number): Promise<void> {
  let stillTurns = 0
  let stillSince = performance.now()
  let fingerprint = ''
  for (;;) {
    await new Promise<void>((resolve) => setImmediate(resolve))
    const bodies = [...scheduler.executing, ...scheduler.executingDirect]
    const present = bodies.join()
    const isCalling = store.calls > 0 && performance.now() - store.lastCallAt < CALL_PATIENCE_MS
    if (present !== fingerprint || isCalling || (!scheduler.isQuiet && bodies.length === 0)) {
      fingerprint = present
      stillTurns = 0
      stillSince = performance.now()
      continue
    }
    stillTurns++
    if (stillTurns < STILL_TURNS) continue
    if (bodies.length === 0 || performance.now() - stillSince >= patienceMs) return
    await new Promise<void>((resolve) => setTimeout(resolve, 1))
  }
}
