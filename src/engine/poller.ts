import type { Clock, Timer } from '../platform/clock.ts'
import type { Logger } from '../platform/logger.ts'

export interface PolledTask {
  readonly name: string
  readonly everyMs: number
  run(): Promise<void>
}

/**
 * Runs the recurring tasks of a node, each at its own pace and never twice at once. A task that fails is told once, and
 * tried again at its next turn: no passing fault of the database may end it.
 */
export class Poller {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #timers = new Map<PolledTask, Timer>()
  readonly #failing = new Set<PolledTask>()
  readonly #underWay = new Set<Promise<void>>()
  #isRunning = false
  /** What was under way when it was stopped has no next turn, also if it was started again since. */
  #round = 0

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock
    this.#logger = logger
  }

  start(tasks: readonly PolledTask[]): void {
    this.#isRunning = true
    this.#round++
    for (const task of tasks) this.#schedule(task)
  }

  async stop(): Promise<void> {
    this.#isRunning = false
    for (const timer of this.#timers.values()) timer.cancel()
    this.#timers.clear()
    await Promise.all(this.#underWay)
  }

  #schedule(task: PolledTask): void {
    const round = this.#round
    const timer = this.#clock.after(
      task.everyMs,
      () => {
        const turn = this.#run(task)
        this.#underWay.add(turn)
        void turn.then(() => {
          this.#underWay.delete(turn)
          if (this.#isRunning && round === this.#round) this.#schedule(task)
        })
      },
      'poll',
    )
    this.#timers.set(task, timer)
  }

  async #run(task: PolledTask): Promise<void> {
    try {
      await task.run()
      this.#failing.delete(task)
    } catch (error) {
      if (!this.#failing.has(task))
        this.#logger.error({ error, task: task.name }, 'A recurring task failed; it goes on')
      this.#failing.add(task)
    }
  }
}
