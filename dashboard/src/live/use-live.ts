import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiProblem } from '../api/http.ts'
import { isPaused, type LiveEvent, listen } from './stream.ts'

/**
 * After an answer, the same thing is left alone for three times as long as it took, within these: what happens is seen within
 * a second, and a server that is slow is not asked without end.
 */
const REST_MIN_MS = 100
const REST_MAX_MS = 500

export interface Live<T> {
  readonly data: T | null
  /** The last try failed. `data` is what was known before. */
  readonly problem: ApiProblem | null
  readonly isLoading: boolean
  readonly reload: () => void
}

export interface LiveOptions {
  /** Which events concern it. Without: all but progress. */
  readonly concerns?: (event: LiveEvent) => boolean
  /** For what no event tells of. */
  readonly everyMs?: number
}

const ANY_TRANSITION = (event: LiveEvent) => event.kind !== 'run.progress'

/** Something of the server's that stays as new as the stream of events is. `key` says what; null asks for nothing. */
export function useLive<T>(
  key: string | null,
  load: (signal: AbortSignal) => Promise<T>,
  options: LiveOptions = {},
): Live<T> {
  const [state, setState] = useState<{ key: string | null; data: T | null; problem: ApiProblem | null; busy: boolean }>(
    {
      key: null,
      data: null,
      problem: null,
      busy: true,
    },
  )
  const latest = useRef({ load, concerns: options.concerns ?? ANY_TRANSITION })
  latest.current = { load, concerns: options.concerns ?? ANY_TRANSITION }
  const reloader = useRef<() => void>(() => {})

  useEffect(() => {
    if (key === null) return
    const loop = new ReloadLoop(
      (signal) => latest.current.load(signal),
      (data) => setState({ key, data, problem: null, busy: false }),
      (problem) => setState((before) => ({ key, data: before.key === key ? before.data : null, problem, busy: false })),
    )
    reloader.current = () => loop.now()
    const forget = listen((event) => {
      if (event === null || latest.current.concerns(event)) loop.soon()
    })
    const resumed = isPaused.subscribe((paused) => {
      if (!paused) loop.resume()
    })
    const every = options.everyMs === undefined ? undefined : setInterval(() => loop.soon(), options.everyMs)
    setState((before) => ({ ...before, busy: true }))
    loop.now()
    return () => {
      forget()
      resumed()
      clearInterval(every)
      loop.stop()
    }
  }, [key, options.everyMs])

  const isOther = state.key !== key
  return {
    data: isOther ? null : state.data,
    problem: isOther ? null : state.problem,
    isLoading: key !== null && (isOther || state.busy),
    reload: () => reloader.current(),
  }
}

/** Loads at once, then again when told, never twice at a time and not while the page is held. */
class ReloadLoop<T> {
  readonly #load: (signal: AbortSignal) => Promise<T>
  readonly #onData: (data: T) => void
  readonly #onProblem: (problem: ApiProblem) => void
  readonly #ended = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined
  #loadedAt = 0
  #restMs = 0
  #isLoading = false
  #isDirty = false

  constructor(
    load: (signal: AbortSignal) => Promise<T>,
    onData: (data: T) => void,
    onProblem: (problem: ApiProblem) => void,
  ) {
    this.#load = load
    this.#onData = onData
    this.#onProblem = onProblem
  }

  now(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#isDirty = true
    void this.#run()
  }

  soon(): void {
    this.#isDirty = true
    if (isPaused.peek() || this.#timer !== undefined) return
    const waitMs = Math.max(0, this.#loadedAt + this.#restMs - performance.now())
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (!isPaused.peek()) void this.#run()
    }, waitMs)
  }

  resume(): void {
    if (this.#isDirty && this.#loadedAt > 0) this.soon()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#ended.abort()
  }

  async #run(): Promise<void> {
    if (this.#isLoading || !this.#isDirty) return
    this.#isLoading = true
    this.#isDirty = false
    const beganAt = performance.now()
    try {
      const data = await this.#load(this.#ended.signal)
      if (!this.#ended.signal.aborted) this.#onData(data)
    } catch (error) {
      if (this.#ended.signal.aborted) return
      this.#onProblem(error instanceof ApiProblem ? error : new ApiProblem(0, 'page', String(error), null))
    } finally {
      this.#isLoading = false
      this.#loadedAt = performance.now()
      this.#restMs = Math.min(REST_MAX_MS, Math.max(REST_MIN_MS, 3 * (this.#loadedAt - beganAt)))
      if (this.#isDirty && !this.#ended.signal.aborted) this.soon()
    }
  }
}
