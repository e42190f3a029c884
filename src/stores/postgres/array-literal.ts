import type { SqlValue } from './connection.ts'

/** A list as PostgreSQL reads it. `pg` would write the same, at several times the cost: that counts where lists are long. */
export function asLiteral(value: SqlValue): Exclude<SqlValue, readonly unknown[]> {
  return isList(value) ? literalOf(value) : value
}

function literalOf(list: readonly (string | number | boolean | null)[]): string {
  let text = '{'
  for (let place = 0; place < list.length; place++) {
    if (place > 0) text += ','
    text += elementOf(list[place] ?? null)
  }
  return `${text}}`
}

/** `Array.isArray` does not tell lists that cannot be changed. */
function isList(value: SqlValue): value is Extract<SqlValue, readonly unknown[]> {
  return Array.isArray(value)
}

function elementOf(value: string | number | boolean | null): string {
  if (value === null) return 'NULL'
  return typeof value === 'string'
    ? `"${SPECIAL.test(value) ? value.replace(EACH_SPECIAL, '\\$&') : value}"`
    : `${value}`
}

const SPECIAL = /["\\]/
const EACH_SPECIAL = /["\\]/g
