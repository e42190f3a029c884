import type { EventRow, Transition } from '../../store/events.ts'
import { passFaultPoint } from '../../store/fault-points.ts'
import type { EnqueueResult } from '../../store/jobs.ts'
import type { ClaimRequest, FinishedRun } from '../../store/runs.ts'
import { asLiteral } from './array-literal.ts'
import type { Connection, SqlValue } from './connection.ts'
import { isAboutNeighbour, isRefusedStatement } from './errors.ts'
import { SharedConnection } from './shared-connection.ts'
import {
  newRunIds,
  type OpenClaim,
  type OpenClaimRow,
  openClaimText,
  openClaimValues,
  readOpenClaim,
} from './statements/claim-open.ts'
import { PROMOTE_DUE } from './statements/due.ts'
import { type AcceptedRow, type PlainEnqueue, plainEnqueue, readAccepted } from './statements/plain-enqueue.ts'
import {
  type EndedRow,
  FINISH_PLAIN,
  type PlainFinish,
  plainFinishValues,
  readEnded,
  tellEnded,
} from './statements/plain-finish.ts'
import { particularsOf } from './statements/start-jobs.ts'

export interface HotWritesParts {
  /** An error as those who asked are told it. */
  readonly translated: (error: unknown) => unknown
  /** Does the work on a connection of its own, outside of any transaction. */
  readonly onConnection: <T>(work: (connection: Connection) => Promise<T>) => Promise<T>
  readonly committed: (row: EventRow) => void
  /** Whether the next statement may be sent before the last one is answered. */
  readonly pipelines: boolean
}

/** One statement of a commit, and what its answer means. */
interface Step {
  readonly sql: string
  readonly values: SqlValue[]
  /** How many are accepted, ended and started at most. */
  readonly jobs: number
  /** Answers those who asked. */
  readonly answer: (rows: readonly unknown[]) => Told
  readonly fail: (error: unknown) => void
  /** The same as several steps, if more than one asked. */
  readonly split: () => readonly Step[]
}

/** The number of a transaction, and what it changed. */
interface Told {
  readonly xid: number | null
  readonly transitions: readonly Transition[]
}

interface Asked<Question, Answer> {
  readonly question: Question
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

type AskedEnqueue = Asked<PlainEnqueue, EnqueueResult>
type AskedClaim = Asked<ClaimRequest, OpenClaim>
type AskedFinish = Asked<PlainFinish, ReadonlySet<FinishedRun>>

/** Commits that are on their way at the same time: while they are, the next one gathers what comes. */
const ON_THE_WAY_MAX = 2
const JOBS_MAX = 2_000
/** From so many callers on, those who come together are accepted in two commits. */
const HALVED_FROM = 20

/**
 * Commits of up to so many Jobs share a connection, behind each other: what they would gain from working at the same time is
 * less than what they lose by waiting for each other's locks and syncs. Larger ones have a connection each.
 */
const SHARING_MAX = 300

/**
 * The common case of what happens most, each as one statement for many: accepting Jobs that nothing speaks against, and ending
 * Runs that concern nobody else. What is asked for in one turn of the event loop, or while earlier commits are on their way,
 * goes to the server together, as one transaction in one round trip.
 */
export class HotWrites {
  readonly #parts: HotWritesParts
  readonly #enqueues: AskedEnqueue[] = []
  readonly #finishes: AskedFinish[] = []
  readonly #claims: AskedClaim[] = []
  readonly #shared: SharedConnection
  #onTheWay = 0
  #isWoken = false
  /** How many enqueues the first half has left behind, see `#takeEnqueues`. */
  #secondHalf = 0
  /** How many questions of each round are not answered. A round ends when somebody waits for all of its answers. */
  readonly #open = new Map<number, number>()
  #round = 0
  #waiters: { readonly upTo: number; readonly resolve: () => void }[] = []
  /** The last claim found that delayed Jobs had become due: the next one makes them ready first. */
  #promotes = false

  constructor(parts: HotWritesParts) {
    this.#parts = parts
    this.#shared = new SharedConnection(parts.onConnection)
  }

  /** Accepts plain Jobs, whose lanes and policies are written already. */
  enqueue(question: PlainEnqueue): Promise<EnqueueResult> {
    return this.#ask(this.#enqueues, question)
  }

  /** Ends those of the given plain Runs that concern nobody else, and returns them. */
  finish(question: PlainFinish): Promise<ReadonlySet<FinishedRun>> {
    return this.#ask(this.#finishes, question)
  }

  /** Claims Jobs that neither a limit nor a ticket concerns: behind the ends that came in the same turn. */
  claim(question: ClaimRequest): Promise<OpenClaim> {
    return this.#ask(this.#claims, question)
  }

  /** Resolves when everything that was asked until now has been answered. */
  async settled(): Promise<void> {
    const upTo = this.#round++
    if (this.#isOpen(upTo)) await new Promise<void>((resolve) => this.#waiters.push({ upTo, resolve }))
  }

  #ask<Question, Answer>(list: Asked<Question, Answer>[], question: Question): Promise<Answer> {
    const round = this.#round
    this.#open.set(round, (this.#open.get(round) ?? 0) + 1)
    return new Promise((resolve, reject) => {
      list.push({
        question,
        resolve: (answer) => {
          resolve(answer)
          this.#answered(round)
        },
        reject: (error) => {
          reject(this.#parts.translated(error))
          this.#answered(round)
        },
      })
      this.#wake()
    })
  }

  #answered(round: number): void {
    const left = (this.#open.get(round) ?? 1) - 1
    if (left > 0) this.#open.set(round, left)
    else {
      this.#open.delete(round)
      this.#waiters = this.#waiters.filter(({ upTo, resolve }) => this.#isOpen(upTo) || resolve())
    }
  }

  #isOpen(upTo: number): boolean {
    return [...this.#open.keys()].some((round) => round <= upTo)
  }

  #wake(): void {
    if (this.#isWoken || this.#onTheWay >= ON_THE_WAY_MAX) return
    this.#isWoken = true
    setImmediate(() => {
      this.#isWoken = false
      void this.#flush()
    })
  }

  async #flush(): Promise<void> {
    const steps = this.#takeSteps()
    if (steps.length === 0) return
    this.#onTheWay++
    this.#wakeForRest()
    await this.#commit(steps)
    this.#onTheWay--
    this.#wakeForRest()
  }

  #wakeForRest(): void {
    if (this.#enqueues.length + this.#finishes.length + this.#claims.length > 0) this.#wake()
  }

  #takeSteps(): Step[] {
    // Nothing else with it: so it takes the same connection as the first half, and comes behind it.
    if (this.#secondHalf > 0) return [this.#enqueueStep(this.#takeSecondHalf())]
    const finishes = this.#finishes.splice(0)
    // One at a time: a second one of the same transaction would tell what it started under the same number.
    const claim = this.#claims.shift()
    const enqueues = this.#takeEnqueues(finishes.length === 0 && claim === undefined)
    // What happens most is one statement, which needs no transaction around it.
    if (claim !== undefined && enqueues.length === 0 && !this.#promotes) {
      return [finishes.length === 0 ? this.#claimStep(claim, 'checks-due') : this.#fusedStep(finishes, claim)]
    }
    const steps: Step[] = []
    if (finishes.length > 0) steps.push(this.#finishStep(finishes))
    if (enqueues.length > 0) steps.push(this.#enqueueStep(enqueues))
    if (claim !== undefined) {
      steps.push(this.#promoteStep(claim.question.now), this.#claimStep(claim, 'behind-promotion'))
    }
    return steps
  }

  #takeEnqueues(isAlone: boolean): AskedEnqueue[] {
    let jobs = 0
    const fitting = this.#enqueues.findIndex(({ question }) => {
      jobs += question.jobs.length
      return jobs > JOBS_MAX
    })
    const most = fitting === -1 ? this.#enqueues.length : Math.max(1, fitting)
    // Many callers that were answered together ask again together. As two halves they do so while the server works. Only where
    // both halves take the same way: who asked first is accepted first.
    const isHalved =
      isAlone && this.#parts.pipelines && this.#onTheWay === 0 && most >= HALVED_FROM && jobs <= SHARING_MAX
    if (!isHalved) return this.#enqueues.splice(0, most)
    this.#secondHalf = most >> 1
    return this.#enqueues.splice(0, most - this.#secondHalf)
  }

  #takeSecondHalf(): AskedEnqueue[] {
    const half = this.#enqueues.splice(0, this.#secondHalf)
    this.#secondHalf = 0
    return half
  }

  /** All or nothing. What cannot be written is looked for by writing each alone: it fails without the others. */
  async #commit(steps: readonly Step[], tries = 1): Promise<void> {
    let answers: (readonly unknown[])[]
    try {
      answers = await this.#send(steps)
    } catch (error) {
      if (isAboutNeighbour(error) && tries === 1) return this.#commit(steps, 2)
      const parts = steps.flatMap((step) => step.split())
      if (parts.length === 1 || !isRefusedStatement(error)) for (const step of steps) step.fail(error)
      else for (const part of parts) await this.#commit([part])
      return
    }
    passFaultPoint('store:after-commit')
    const told = steps.map((step, index) => step.answer(answers[index] ?? []))
    const transitions = told.flatMap((one) => one.transitions)
    const xid = told.find((one) => one.xid !== null)?.xid ?? null
    if (xid !== null && transitions.length > 0) this.#parts.committed({ seq: xid, transitions })
  }

  #send(steps: readonly Step[]): Promise<(readonly unknown[])[]> {
    const { pipelines, onConnection } = this.#parts
    if (!pipelines) return onConnection((connection) => sendOneByOne(connection, steps))
    const jobs = steps.reduce((sum, step) => sum + step.jobs, 0)
    const work = (connection: Connection) => send(connection, steps)
    return jobs <= SHARING_MAX ? this.#shared.use(work) : onConnection(work)
  }

  #enqueueStep(asked: readonly AskedEnqueue[]): Step {
    const inOrder = [...asked].sort((a, b) => a.question.now - b.question.now)
    const calls = inOrder.map(({ question }) => question)
    return {
      ...plainEnqueue(calls),
      jobs: calls.reduce((sum, { jobs }) => sum + jobs.length, 0),
      answer: (rows) => {
        const [accepted] = rows as readonly [AcceptedRow]
        const { results, transitions } = readAccepted(calls, accepted)
        inOrder.forEach(({ resolve }, index) => resolve(results[index] as EnqueueResult))
        return { xid: accepted.xid, transitions }
      },
      fail: (error) => {
        for (const { reject } of asked) reject(error)
      },
      split: () => asked.map((one) => this.#enqueueStep([one])),
    }
  }

  #claimStep(asked: AskedClaim, kind: 'behind-promotion' | 'checks-due'): Step {
    const { question } = asked
    const runIds = newRunIds(question)
    return {
      sql: openClaimText(question.limit, kind),
      values: openClaimValues(question, runIds),
      jobs: question.limit,
      answer: (rows) => this.#answerClaim(asked, readOpenClaim(rows as readonly OpenClaimRow[], runIds)),
      fail: asked.reject,
      split: () => [this.#claimStep(asked, kind)],
    }
  }

  #finishStep(asked: readonly AskedFinish[]): Step {
    const ends = asked.map(({ question }) => question)
    return {
      sql: FINISH_PLAIN,
      values: plainFinishValues(ends),
      jobs: ends.reduce((sum, { runs }) => sum + runs.length, 0),
      answer: (rows) => answerFinishes(asked, rows[0] as EndedRow | undefined),
      fail: (error) => {
        for (const { reject } of asked) reject(error)
      },
      split: () => asked.map((one) => this.#finishStep([one])),
    }
  }

  /** Ends and the claim that takes their places, as one statement. */
  #fusedStep(finishes: readonly AskedFinish[], claim: AskedClaim): Step {
    const ends = finishes.map(({ question }) => question)
    const runIds = newRunIds(claim.question)
    const parts = () => [this.#finishStep(finishes), this.#claimStep(claim, 'checks-due')]
    return {
      sql: openClaimText(claim.question.limit, 'with-ends'),
      values: [...openClaimValues(claim.question, runIds), ...plainFinishValues(ends)],
      jobs: claim.question.limit + ends.reduce((sum, { runs }) => sum + runs.length, 0),
      answer: (answered) => {
        const read = readOpenClaim(answered as readonly OpenClaimRow[], runIds)
        const ended = answerFinishes(finishes, read.ended)
        const started = this.#answerClaim(claim, read)
        return { xid: ended.xid, transitions: [...ended.transitions, ...started.transitions] }
      },
      fail: (error) => {
        for (const part of parts()) part.fail(error)
      },
      split: () => parts().flatMap((part) => part.split()),
    }
  }

  #answerClaim(asked: AskedClaim, claim: OpenClaim): Told {
    if (claim.isDue && !claim.isLimited) {
      this.#promotes = true
      this.#claims.push(asked)
      this.#wake()
    } else asked.resolve(claim)
    return { xid: claim.ended.xid, transitions: readStarted(claim, asked.question.now) }
  }

  /** Delayed Jobs that have become due: the claim behind it sees them. */
  #promoteStep(now: number): Step {
    return {
      sql: PROMOTE_DUE,
      values: [now],
      jobs: 0,
      answer: (rows) => {
        const [row] = rows as readonly { readonly promoted: number }[]
        this.#promotes = (row?.promoted ?? 0) > 0
        return { xid: null, transitions: [] }
      },
      fail: () => {},
      split: () => [],
    }
  }
}

function answerFinishes(asked: readonly AskedFinish[], row: EndedRow | undefined): Told {
  const runs = readEnded(
    asked.map(({ question }) => question),
    row,
  )
  const ended = new Set(runs)
  for (const { question, resolve } of asked) resolve(new Set(question.runs.filter((run) => ended.has(run))))
  return { xid: row?.xid ?? null, transitions: tellEnded(runs) }
}

/** All of it is sent before the first answer is awaited, so it is one round trip where the client can do that. */
async function send(connection: Connection, steps: readonly Step[]): Promise<(readonly unknown[])[]> {
  passFaultPoint('store:before-commit')
  const [first] = steps
  if (steps.length === 1 && first !== undefined) return [await ask(connection, first)]
  // Before anything is sent: what came after a `begin` that nobody ends would be the next user's.
  const literals = steps.map(({ values }) => values.map(asLiteral))
  const sent = connection.together((): Promise<readonly unknown[] | undefined>[] => [
    connection.exec('begin') as Promise<undefined>,
    ...steps.map(({ sql }, index) => connection.all(sql, ...(literals[index] ?? []))),
    connection.exec('commit') as Promise<undefined>,
  ])
  const settled = await Promise.allSettled(sent)
  // After a statement that failed, the server takes the commit for a rollback.
  const [, ...answers] = settled.map(valueOf)
  return answers.slice(0, -1).map((rows) => rows ?? [])
}

function ask(connection: Connection, { sql, values }: Step): Promise<readonly unknown[]> {
  return connection.all(sql, ...values.map(asLiteral))
}

/** The same for clients that cannot. */
async function sendOneByOne(connection: Connection, steps: readonly Step[]): Promise<(readonly unknown[])[]> {
  passFaultPoint('store:before-commit')
  const answers: (readonly unknown[])[] = []
  if (steps.length > 1) await connection.exec('begin')
  try {
    for (const step of steps) answers.push(await ask(connection, step))
  } catch (error) {
    if (steps.length > 1) await connection.exec('rollback').catch(() => {})
    throw error
  }
  if (steps.length > 1) await connection.exec('commit')
  return answers
}

function valueOf<T>(settled: PromiseSettledResult<T>): T {
  if (settled.status === 'rejected') throw settled.reason
  return settled.value
}

/** What everybody is told of the Jobs that were claimed. */
function readStarted({ rows }: OpenClaim, now: number): Transition[] {
  return rows.map((row) => {
    const { chain_id, attempt } = particularsOf(row)
    return {
      kind: 'job.started',
      jobId: row.job_id,
      runId: row.run_id,
      chainId: chain_id ?? row.job_id,
      type: row.type,
      status: 'RUNNING',
      outcome: null,
      reason: null,
      attempt,
      at: now,
    }
  })
}
