import type { Store } from 'pawl/store'
import type { StoreKind } from '../campaign.ts'

export type Row = Readonly<Record<string, string | number | null>>
export type Tables = Readonly<Record<string, readonly Row[]>>

/** Where databases come from. */
export interface Place {
  readonly kind: StoreKind
  /** A new, empty one. */
  create(): Promise<SweptDatabase>
  /** Removes all that it made. */
  remove(): Promise<void>
}

/** A database whose operations are broken off. Tables are called as on SQLite, `pawl_jobs`. */
export interface SweptDatabase {
  readonly kind: StoreKind
  open(): Promise<Store>
  /** Every row that is there because of what was asked for. */
  tables(): Promise<Tables>
  /** Whether anybody has changed anything since this was last asked. */
  hasChanged(): Promise<boolean>
  /** What a crash at this very moment would leave, where it can be taken at once. */
  copyNow(): SweptDatabase | null
  /** Does the work in a transaction of the caller's own, and commits it. */
  transact(work: (transaction: unknown) => unknown): Promise<void>
  /** Changes it behind Pawl's back, as only a person with SQL can. */
  damage(sql: string): Promise<void>
  remove(): Promise<void>
}
