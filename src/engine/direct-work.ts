import { capText, LOG_TEXT_MAX, type LogLevel } from '../domain/run.ts'
import type { Clock } from '../platform/clock.ts'
import type { Logger } from '../platform/logger.ts'
import type { NewJob } from '../store/jobs.ts'
import type { ClaimedTicket, ReservationStore } from '../store/reservations.ts'
import type { ChildIdentity } from '../store/runs.ts'
import type { Finisher } from './finisher.ts'
import { insist } from './insist.ts'
import type { BodyEnd, BodyIdentity, Parents } from './isolation/body.ts'
import { Reporter } from './reporter.ts'
import { CHILD_COMPLAINT, NO_PARENTS, type Work, type WorkEnd, type WorkResult } from './work.ts'

export interface DirectWorkParts {
  readonly store: Pick<ReservationStore, 'recordDirectChild'>
  readonly finisher: Finisher
  readonly clock: Clock
  readonly logger: Logger
  readonly prepareFollowUp: (type: string, params: unknown, options: unknown) => NewJob | Promise<NewJob>
}

/** A ticket that is served: what comes of it is its caller's, written into its reservation and nowhere else. */
export class DirectWork implements Work {
  readonly kind = 'direct'
  readonly identity: BodyIdentity
  readonly keepsOutput = false
  readonly isReporting = false
  readonly #ticket: ClaimedTicket
  readonly #parts: DirectWorkParts

  constructor(ticket: ClaimedTicket, parts: DirectWorkParts) {
    const { type, claim } = ticket
    const { reservationId } = claim
    this.identity = { type, jobId: reservationId, chainId: reservationId, runId: reservationId, attempt: 1 }
    this.#ticket = ticket
    this.#parts = parts
  }

  get params(): string {
    return this.#ticket.params
  }

  get policy(): ClaimedTicket['policy'] {
    return this.#ticket.policy
  }

  findParents(): Parents {
    return NO_PARENTS
  }

  openReporter(): Reporter {
    return new DirectReporter(this.#parts, this.identity)
  }

  recordChild(child: ChildIdentity): Promise<'recorded' | 'late'> {
    const { store, clock, logger } = this.#parts
    return insist(clock, logger, CHILD_COMPLAINT, () => store.recordDirectChild(this.#ticket.claim, child))
  }

  finish({ outcome, body, followUps }: WorkEnd): Promise<WorkResult> {
    return this.#parts.finisher.finishDirect({ ticket: this.#ticket, outcome, body, followUps })
  }

  release(): Promise<void> {
    return this.#parts.finisher.releaseDirect(this.#ticket.claim)
  }

  tellLate(ended: BodyEnd['kind']): void {
    const { runId: reservationId, type } = this.identity
    this.#parts.logger.info(
      { reservationId, type, ended },
      'A direct execution ended after its caller had been answered',
    )
  }
}

/** There is no Run to keep what the body says: its lines go to the operator, the rest is dropped. */
class DirectReporter extends Reporter {
  readonly #logger: Logger
  readonly #about: { readonly reservationId: string; readonly type: string }

  constructor({ clock, prepareFollowUp, logger }: DirectWorkParts, { runId, type }: BodyIdentity) {
    super(clock, prepareFollowUp, () => {})
    this.#logger = logger
    this.#about = { reservationId: runId, type }
  }

  override log(level: LogLevel, text: string, fields: Parameters<Reporter['log']>[2]): void {
    const tell = level === 'debug' ? 'info' : level
    this.#logger[tell]({ ...fields, ...this.#about }, capText(String(text), LOG_TEXT_MAX))
  }

  override progress(): void {}

  override addArtifact(): void {}
}
