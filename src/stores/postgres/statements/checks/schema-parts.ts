/** The parts of a schema that statements make, each by its kind and name: `table jobs`, `column jobs.seq`. */
export function declaredParts(texts: readonly string[]): ReadonlySet<string> {
  const parts = new Set<string>()
  for (const text of texts) {
    for (const [, table = '', body = ''] of text.matchAll(CREATE_TABLE)) {
      parts.add(`table ${table}`)
      for (const line of body.split('\n')) for (const part of partsOfLine(table, line.trim())) parts.add(part)
    }
    for (const [, table = '', before = '', after = ''] of text.matchAll(RENAME_COLUMN)) {
      for (const part of [...parts].filter(
        (known) => known.endsWith(` ${table}.${before}`) || known.includes(` ${table} (`),
      )) {
        parts.delete(part)
        parts.add(part.replace(new RegExp(`\\b${before}\\b`), after))
      }
    }
    // Before the others: one may be made again under the same name.
    for (const [, index] of text.matchAll(DROP_INDEX)) parts.delete(`index ${index}`)
    for (const [, unique = '', index] of text.matchAll(CREATE_INDEX)) parts.add(`${unique}index ${index}`)
    for (const [, kind, name] of text.matchAll(CREATE_OTHER)) parts.add(`${kind} ${name}`)
  }
  return parts
}

// Migrations are written in one way: each column on a line of its own, and the closing bracket at the beginning of one.
const CREATE_TABLE = /^create table (?:if not exists )?pawl\.(\w+) \(\n([\s\S]*?)\n\)/gm
const RENAME_COLUMN = /^alter table pawl\.(\w+) rename column (\w+) to (\w+)/gm
const CREATE_INDEX = /^create (unique )?index (\w+) on pawl\./gm
const DROP_INDEX = /^drop index pawl\.(\w+)/gm
const CREATE_OTHER = /^create (?:or replace )?(sequence|view|function|trigger) (?:pawl\.)?(\w+)/gm

function partsOfLine(table: string, line: string): string[] {
  const [, key, columns] = /^(primary key|unique) \(([^)]*)\)/.exec(line) ?? []
  if (key !== undefined) return [`${key} ${table} (${columns})`]
  const [, column] = /^(\w+) /.exec(line) ?? []
  if (column === undefined || column === 'check') return []
  const parts = [`column ${table}.${column}`]
  if (/ primary key\b/.test(line)) parts.push(`primary key ${table} (${column})`)
  if (/ unique\b/.test(line)) parts.push(`unique ${table} (${column})`)
  return parts
}
