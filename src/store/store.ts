import type { AuditStore } from './audit.ts'
import type { BulkOperationStore } from './bulk-operations.ts'
import type { CheckStore } from './checks.ts'
import type { EventStore } from './events.ts'
import type { CascadeStore, GroupStore } from './groups.ts'
import type { JobStore } from './jobs.ts'
import type { KeyStore } from './keys.ts'
import type { MaintenanceStore } from './maintenance.ts'
import type { Liveness, NodeStore } from './nodes.ts'
import type { ReservationStore } from './reservations.ts'
import type { RunStore } from './runs.ts'
import type { ScheduleStore } from './schedules.ts'
import type { StandingStore } from './standing.ts'
import type { StatisticsStore } from './statistics.ts'
import type { TemplateStore } from './templates.ts'
import type { WebhookStore } from './webhooks.ts'

/**
 * What the engine needs from a database. One method per transition; each is one transaction, all or nothing, fenced by
 * the state it expects. Losing a race is a returned value, never an exception. The store decides nothing: the engine
 * decides with pure functions and hands over data.
 */
export interface Store
  extends JobStore,
    RunStore,
    GroupStore,
    CascadeStore,
    BulkOperationStore,
    TemplateStore,
    ScheduleStore,
    ReservationStore,
    WebhookStore,
    NodeStore,
    EventStore,
    StatisticsStore,
    StandingStore,
    KeyStore,
    AuditStore<Store>,
    CheckStore,
    MaintenanceStore {
  /** The database in words, for messages: `sqlite pawl.db`. */
  readonly description: string
  readonly liveness: Liveness
  /**
   * The time by which all who share this store go, in epoch milliseconds. Null: they are on one machine, and its own clock
   * will do.
   */
  readonly now: (() => number) | null
  /** The folder for log files of command jobs, made when first needed; null when this store has no place for files. */
  readonly logDirectory: string | null
  /** Waits for what is under way, then lets go of the database. */
  close(): Promise<void>
}

/** What `sqlite(…)` returns: a store that is not open yet. */
export interface StoreSource {
  /** Opens it, and makes or migrates it where that is needed. */
  open(): Promise<Store>
  /** Looks at it from outside, without changing a byte. */
  inspect(): Promise<StoreState>
}

/** What is there before anybody opens it. */
export interface StoreState {
  /** The database in words, for messages. */
  readonly description: string
  /**
   * `missing`: it would be made. `older`: it would be migrated. `newer`: a later version of Pawl made it, and this one
   * refuses it. `foreign`: another program's, refused too.
   */
  readonly kind: 'missing' | 'current' | 'older' | 'newer' | 'foreign'
  /** Its schema's version; null where there is none. */
  readonly version: number | null
  /** The version that this Pawl works with. */
  readonly latest: number
  /** The migrations that would be applied, in order. */
  readonly pending: readonly string[]
}
