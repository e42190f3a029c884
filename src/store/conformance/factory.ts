import type { Damage } from '../maintenance.ts'
import type { Store } from '../store.ts'

/** How the kit gets its databases. An optional hook that is missing skips the tests that need it, visibly. */
export interface StoreFactory<Database = unknown> {
  /** Makes a new, empty database. Called once per test, so that no test sees what another one left. */
  create(): Promise<Database>
  /** Opens a store on it. The kit closes every store it opened. */
  open(database: Database): Promise<Store>
  /** Removes the database after its test, when all stores on it are closed. */
  remove(database: Database): Promise<void>

  /** Opens one more store object on the same database, while the first is open or after it, as another process would. */
  openAnother?(database: Database): Promise<Store>
  /** Begins a transaction of the caller's own, does the work in it, and then commits it or rolls it back. */
  withTransaction?(database: Database, work: TransactionWork, end: TransactionEnd): Promise<void>
  /** Damages what is stored of this Job, behind the store's back. docs/store-conformance.md says what each kind means. */
  damage?(database: Database, kind: Damage['kind'], jobId: string): Promise<void>
  /** Calls `store.backup` with a new path, and opens the copy. */
  openBackup?(database: Database, store: Store): Promise<Store>
}

/** `transaction` is whatever `enqueueJobsWithin` of this store takes. */
export type TransactionWork = (transaction: unknown) => unknown

export type TransactionEnd = 'commit' | 'rollback'

/** What the kit needs of a test framework. `describe` and `it` of node:test and of vitest fit as they are. */
export interface Runner {
  describe(name: string, body: () => void): unknown
  it(name: string, options: { skip: boolean }, body: () => Promise<void>): unknown
}

export interface ConformanceOptions {
  /** @default `describe` and `it` of node:test */
  readonly runner?: Runner
  /**
   * Where this store deviates on purpose: the test, as `concern > title`, and the reason, which is printed with the
   * skipped test. A name that no test has is an error.
   * @default none
   */
  readonly deviations?: Readonly<Record<string, string>>
}
