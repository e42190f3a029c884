import type { Client } from '../../client/index.ts'
import type { Timer } from '../../platform/clock.ts'
import type { Cli } from '../cli.ts'
import { followEvents } from './event-source.ts'
import { LiveScreen } from './live-screen.ts'
import { describeResults, readSnapshot, recallResults } from './read-snapshot.ts'
import { readWatchEvent } from './watch-event.ts'
import { drawFrame } from './watch-frame.ts'
import { WatchState } from './watch-state.ts'

const FRAME_MS = 200
/** After an event, a new snapshot is read no sooner than so long after the last one. */
const SNAPSHOT_MIN_MS = 400
/** Without any event, so often. */
const SNAPSHOT_MAX_MS = 2_000

/** The live view, until the signal fires. */
export async function watchOnScreen(cli: Cli, client: Client, title: string, signal: AbortSignal): Promise<void> {
  const state = new WatchState()
  const screen = new LiveScreen(cli.stdout)
  const draw = () => {
    const { columns, rows } = screen
    screen.draw(drawFrame(state, { columns, rows, now: cli.clock.now(), colors: cli.colors, title }))
  }
  const reading = new AbortController()
  const snapshots = new Snapshots(cli, client, state, AbortSignal.any([signal, reading.signal]))
  let timer: Timer | null = null
  const tick = () => {
    snapshots.readIfDue(screen.rows)
    draw()
    timer = cli.clock.after(FRAME_MS, tick)
  }
  try {
    const following = followEvents(client, cli.clock, signal, {
      connected() {
        state.connection = { kind: 'connected' }
        state.listeningSince = cli.clock.now()
        snapshots.beginAnew()
      },
      lost(message) {
        state.connection = { kind: 'lost', since: cli.clock.now(), message }
      },
      event(streamed) {
        const event = readWatchEvent(streamed)
        if (event !== null) state.hear(event, cli.clock.now())
        else if (streamed.event === 'reset') snapshots.beginAnew()
      },
    })
    tick()
    await following
  } finally {
    ;(timer as Timer | null)?.cancel()
    reading.abort()
    await snapshots.idle()
    if (state.connection.kind !== 'connecting') draw()
    screen.end()
  }
}

/** Reads snapshots, one at a time, when they are due. */
class Snapshots {
  readonly #cli: Cli
  readonly #client: Client
  readonly #state: WatchState
  readonly #signal: AbortSignal
  #reading: Promise<void> | null = null
  #lastAt = Number.NEGATIVE_INFINITY
  #needsResults = false

  constructor(cli: Cli, client: Client, state: WatchState, signal: AbortSignal) {
    this.#cli = cli
    this.#client = client
    this.#state = state
    this.#signal = signal
  }

  /** What happened while nobody listened is not known. */
  beginAnew(): void {
    this.#needsResults = true
    this.#lastAt = Number.NEGATIVE_INFINITY
  }

  readIfDue(rows: number): void {
    if (this.#reading !== null || this.#state.connection.kind !== 'connected') return
    const ageMs = this.#cli.clock.now() - this.#lastAt
    if (ageMs < (this.#state.isStale ? SNAPSHOT_MIN_MS : SNAPSHOT_MAX_MS)) return
    this.#reading = this.#read(rows).finally(() => {
      this.#reading = null
      this.#lastAt = this.#cli.clock.now()
    })
  }

  async idle(): Promise<void> {
    await this.#reading
  }

  async #read(rows: number): Promise<void> {
    const state = this.#state
    state.isStale = false
    try {
      state.adopt(await readSnapshot(this.#client, state, this.#signal))
      if (this.#needsResults) await recallResults(this.#client, state, this.#signal)
      this.#needsResults = false
      await describeResults(this.#client, state, rows, this.#signal)
    } catch {
      // The way to the server is broken, which the event stream will tell, or a Job was pruned meanwhile: next time.
      state.isStale = true
    }
  }
}
