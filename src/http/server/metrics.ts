import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { OperationContext } from '../../operations/context.ts'
import type { Logger } from '../../platform/logger.ts'
import type { ExchangeEnded } from './exchanges.ts'
import { JobTimes } from './job-times.ts'
import type { SharedTail } from './shared-tail.ts'

/** Jobs are counted up to here. Counting more would cost as much as the queue is long. */
const COUNT_MAX = 100_000

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

export interface MetricsParts {
  readonly context: OperationContext
  readonly tail: SharedTail
  readonly logger: Logger
  readonly version: string
}

/** What `/metrics` tells. Everything of the queue and its history is read at each scrape; nothing is counted twice. */
export class Metrics {
  readonly #context: OperationContext
  readonly #registry = new Registry()
  readonly #times: JobTimes
  readonly #requests: Histogram<'method' | 'route' | 'status'>
  #isScraped = false

  constructor({ context, tail, logger, version }: MetricsParts) {
    this.#context = context
    const registers = [this.#registry]
    this.#requests = new Histogram({
      name: 'pawl_http_request_duration_seconds',
      help: 'How long requests took, from their head to the end of the answer. Streams of events are not among them.',
      labelNames: ['method', 'route', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
      registers,
    })
    new Gauge({
      name: 'pawl_build_info',
      help: 'The version of Pawl; always 1.',
      labelNames: ['version'],
      registers,
    }).set({ version }, 1)
    this.#times = new JobTimes({ context, tail, logger, registry: this.#registry })
  }

  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE

  /** Begins to time a request. What it returns is called at its end. */
  time(): ExchangeEnded {
    const { clock } = this.#context
    const beganAt = clock.now()
    return ({ route, isStream }, { method = '' }, { statusCode }) => {
      if (isStream) return
      // Callers choose paths and methods; as labels they would grow without end.
      const labels = { method: METHODS.has(method) ? method : 'other', route: route ?? 'none', status: statusCode }
      // Whole milliseconds: too much here and too little there, and right on the average.
      this.#requests.observe(labels, Math.max(0, clock.now() - beganAt) / 1_000)
    }
  }

  async render(): Promise<string> {
    if (!this.#isScraped) this.#begin()
    await this.#times.begin()
    await this.#readStore()
    return this.#registry.metrics()
  }

  close(): void {
    this.#times.close()
  }

  /** Nobody needs them before somebody looks, and they cost a little all the time. */
  #begin(): void {
    this.#isScraped = true
    collectDefaultMetrics({ register: this.#registry })
  }

  async #readStore(): Promise<void> {
    const { store, clock } = this.#context
    const now = clock.now()
    const [queue, totals, nodes] = await Promise.all([
      store.countQueue(COUNT_MAX, now),
      store.readTotals(),
      store.listNodes(),
    ])
    this.#gauge('pawl_jobs_queued', `QUEUED jobs, counted up to ${COUNT_MAX}.`, queue.queued)
    this.#gauge(
      'pawl_jobs_ready',
      `Of them, those that only limits, places and nodes keep from starting, counted up to ${COUNT_MAX}.`,
      queue.ready,
    )
    this.#gauge('pawl_jobs_running', 'RUNNING jobs.', queue.running)
    this.#gauge(
      'pawl_queue_oldest_ready_age_seconds',
      'How long the oldest of the jobs that would start next has been ready; 0 when none is.',
      queue.oldestReadyAt === null ? 0 : Math.max(0, now - queue.oldestReadyAt) / 1_000,
    )
    this.#gauge('pawl_direct_waiting', 'Direct executions that wait for a place.', queue.waitingTickets)
    this.#gauge('pawl_direct_running', 'Direct executions that are being executed.', queue.runningDirects)
    this.#gauge('pawl_nodes', 'Nodes registered on the store.', nodes.length)
    this.#total('pawl_jobs_cancelled_total', 'Jobs that became CANCELLED.', totals.cancelled)
    const finished = this.#counter('pawl_runs_finished_total', 'Runs that have ended, by their status.', ['status'])
    finished.inc({ status: 'COMPLETED' }, totals.completed)
    finished.inc({ status: 'FAILED' }, totals.failed)
    finished.inc({ status: 'SKIPPED' }, totals.skipped)
  }

  #gauge(name: string, help: string, value: number): void {
    const gauge = this.#registry.getSingleMetric(name) ?? new Gauge({ name, help, registers: [this.#registry] })
    ;(gauge as Gauge).set(value)
  }

  #total(name: string, help: string, value: number): void {
    this.#counter(name, help, []).inc(value)
  }

  /** Counted in the store, so that it begins at zero at each scrape. */
  #counter(name: string, help: string, labelNames: readonly string[]): Counter {
    const known = this.#registry.getSingleMetric(name) as Counter | undefined
    const counter = known ?? new Counter({ name, help, labelNames: [...labelNames], registers: [this.#registry] })
    counter.reset()
    return counter
  }
}
