import type { Damage } from '../maintenance.ts'
import type { Store } from '../store.ts'
import type { StoreFactory, TransactionEnd, TransactionWork } from './factory.ts'
import { assertNoFault } from './no-fault.ts'
import { NewestRow, type Stage, takeStage } from './stage.ts'

export type Hook = 'openAnother' | 'withTransaction' | 'damage' | 'openBackup'

/** One sentence of the contract. */
export interface ConformanceTest {
  readonly concern: string
  readonly title: string
  /** The hook of the factory without which it cannot be tried. */
  readonly needs: Hook | null
  body<Database>(factory: StoreFactory<Database>, database: Database): Promise<void>
}

/** What a concern writes its tests with. Each body gets a stage: an open, empty store with one registered node. */
export interface Kit {
  test(title: string, body: (stage: Stage) => Promise<void>): void
  /** `other` stands on a second store object with the same database, with a node of its own. */
  testShared(title: string, body: (stage: Stage, other: Stage) => Promise<void>): void
  /** `reopen` closes the store and opens another one on the same database. */
  testReopened(title: string, body: (stage: Stage, reopen: () => Promise<Stage>) => Promise<void>): void
  testTransaction(title: string, body: (stage: Stage, within: Within) => Promise<void>): void
  testDamage(title: string, body: (stage: Stage, damage: MakeDamage) => Promise<void>): void
  testBackup(title: string, body: (stage: Stage, openBackup: () => Promise<Stage>) => Promise<void>): void
}

export type Within = (end: TransactionEnd, work: TransactionWork) => Promise<void>
export type MakeDamage = (kind: Damage['kind'], jobId: string) => Promise<void>

/** The tests of one concern, as data: so that names can be checked before any framework hears of them. */
export function collectTests(concern: string, register: (kit: Kit) => void): ConformanceTest[] {
  const tests: ConformanceTest[] = []
  const add = (title: string, needs: Hook | null, body: Act) =>
    tests.push({ concern, title, needs, body: (factory, database) => perform(new Props(factory, database), body) })
  register({
    test: (title, body) => add(title, null, body),
    testShared: (title, body) =>
      add(title, 'openAnother', async (stage, props) => body(stage, await props.openAnother())),
    testReopened: (title, body) =>
      add(title, 'openAnother', (stage, props) =>
        body(stage, async () => {
          await props.close(stage.store)
          return props.openAnother()
        }),
      ),
    testTransaction: (title, body) =>
      add(title, 'withTransaction', (stage, props) => body(stage, (end, work) => props.withTransaction(work, end))),
    testDamage: (title, body) =>
      add(title, 'damage', (stage, props) => body(stage, (kind, jobId) => props.damage(kind, jobId))),
    testBackup: (title, body) => add(title, 'openBackup', (stage, props) => body(stage, () => props.openBackup(stage))),
  })
  return tests
}

type Act = (stage: Stage, props: Props<unknown>) => Promise<void>

async function perform<Database>(props: Props<Database>, act: Act): Promise<void> {
  try {
    await act(await props.open(), props as Props<unknown>)
    await props.assertSound()
  } finally {
    await props.closeAll()
  }
}

/** The database of one test, and what was opened on it. */
class Props<Database> {
  readonly #factory: StoreFactory<Database>
  readonly #database: Database
  readonly #opened = new Set<Store>()
  readonly #backups = new Set<Store>()
  readonly #newest = new NewestRow()
  #isDamaged = false

  constructor(factory: StoreFactory<Database>, database: Database) {
    this.#factory = factory
    this.#database = database
  }

  async open(): Promise<Stage> {
    return this.#stageOn(await this.#factory.open(this.#database))
  }

  async openAnother(): Promise<Stage> {
    return this.#stageOn(await this.#hook('openAnother')(this.#database))
  }

  async openBackup(of: Stage): Promise<Stage> {
    const backup = await this.#hook('openBackup')(this.#database, of.store)
    this.#backups.add(backup)
    return this.#stageOn(backup, new NewestRow())
  }

  withTransaction(work: TransactionWork, end: TransactionEnd): Promise<void> {
    return this.#hook('withTransaction')(this.#database, work, end)
  }

  damage(kind: Damage['kind'], jobId: string): Promise<void> {
    this.#isDamaged = true
    return this.#hook('damage')(this.#database, kind, jobId)
  }

  async close(store: Store): Promise<void> {
    this.#opened.delete(store)
    await store.close()
  }

  /** Whatever a test did, what it leaves contradicts no invariant; unless it damaged the database itself. */
  async assertSound(): Promise<void> {
    if (this.#isDamaged) return
    const open = [...this.#opened]
    // Whoever looks at the database sees the same; a backup is another one.
    const one = open.find((store) => !this.#backups.has(store))
    if (one !== undefined) await assertNoFault(one)
    for (const store of open) if (this.#backups.has(store)) await assertNoFault(store)
  }

  async closeAll(): Promise<void> {
    for (const store of this.#opened) await this.close(store)
  }

  #stageOn(store: Store, newest = this.#newest): Promise<Stage> {
    this.#opened.add(store)
    return takeStage(store, newest)
  }

  #hook<Name extends Hook>(name: Name): NonNullable<StoreFactory<Database>[Name]> {
    const hook = this.#factory[name]
    if (hook === undefined) throw new Error(`This test needs the factory's \`${name}\`.`)
    return hook.bind(this.#factory) as NonNullable<StoreFactory<Database>[Name]>
  }
}
