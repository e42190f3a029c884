import type { Edit } from './bug.ts'

// What several bugs have in common: something is written in a transaction of its own, behind the one it belongs to.

/** Lets the committer write what was put off, right behind its commit. */
export const WRITES_LATER: Edit = {
  file: 'stores/sqlite/group-committer.ts',
  find: `    passFaultPoint('store:after-commit')
    for (let index`,
  replace: `    passFaultPoint('store:after-commit')
    const later = (transaction as unknown as { later?: ((second: Transaction) => void)[] }).later ?? []
    if (later.length > 0) {
      try {
        this.#connection.control(BEGIN)
        const second = new Transaction(this.#connection, this.#interned)
        for (const work of later) work(second)
        writeTallies(second)
        insertEventRow(second)
        passFaultPoint('store:before-commit')
        this.#connection.control(COMMIT)
      } catch {
        this.#rollback()
      }
    }
    for (let index`,
}

/** In place of a call on \`transaction\`: the same call on \`second\`, later. */
export function later(call: string): string {
  return `;((transaction as unknown as { later: ((second: Transaction) => void)[] }).later ??= []).push((second) => { ${call} })`
}
