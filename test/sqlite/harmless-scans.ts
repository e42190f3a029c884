// What a plan of SQLite may say without the cost growing with the backlog or with history.
import { type Handle, withHandle } from './stage.ts'

export interface Explained {
  readonly sql: string
  readonly plan: readonly string[]
}

/** The plans of statements that were executed, on the database where they were. */
export function explain(path: string, executed: Iterable<readonly [string, readonly unknown[]]>): readonly Explained[] {
  const planOf = (handle: Handle, sql: string, values: readonly unknown[]) =>
    handle
      .prepare(`explain query plan ${sql}`)
      .all(...values)
      .map((row) => (row as { detail: string }).detail)
  return withHandle(path, (handle) =>
    [...executed].map(([sql, values]) => ({ sql: oneLine(sql), plan: planOf(handle, sql, values) })),
  )
}

/** The steps that may go through all of a table that grows, each with its statement. */
export function harmfulScans(explained: readonly Explained[]): string[] {
  const scans = explained.flatMap(({ sql, plan }) =>
    plan.filter((step) => isHarmful(sql, step, plan)).map((step) => `${step}\n    in: ${sql}`),
  )
  return [...new Set(scans)]
}

function isHarmful(sql: string, step: string, plan: readonly string[]): boolean {
  if (step.startsWith('SCAN ')) return !isHarmlessScan(sql, step) && !isPageInOrder(sql, step, plan)
  return isScanInDisguise(sql, step) || passesOverTheQueue(sql, step)
}

/**
 * A walk along the order of the whole queue by somebody who wants only what is ready, or of one lane: it passes over all that is
 * delayed or waits before it, as often as it is made. A whole place in that order is no walk.
 */
function passesOverTheQueue(sql: string, step: string): boolean {
  const [, name, bounds] = /^SEARCH (\S+) USING (?:COVERING )?PRIMARY KEY \((.+)\)$/.exec(step) ?? []
  if (name === undefined || bounds === undefined || tableOf(sql, name) !== 'pawl_queue') return false
  return !bounds.includes('seq=?') && /\b(ready|lane_id) = /.test(sql)
}

/**
 * A search by a range alone, such as "before the cursor", that compares each row with something else on the way: it finds
 * the page without its index too, at the beginning of history.
 */
function isScanInDisguise(sql: string, step: string): boolean {
  const [, name, bounds] = /^SEARCH (\S+) [^()]*\((.+)\)$/.exec(step) ?? []
  if (name === undefined || bounds === undefined || bounds.includes('=')) return false
  const table = tableOf(sql, name)
  if (table in SMALL || table in CONFIGURED || sql in BOUNDED) return false
  const conditions = / where (.*?)(?: order by | group by | limit |\)|$)/.exec(
    sql.slice(sql.indexOf(`from ${table}`)),
  )?.[1]
  return / = \?/.test(conditions ?? '')
}

// Tables that stay small whatever the backlog and the history, and why.
const SMALL: Readonly<Record<string, string>> = {
  pawl_occupancies: 'as many rows as bodies execute right now',
  pawl_direct_occupancies: 'as many rows as bodies of direct executions execute right now',
  pawl_limits: 'as many rows as limits were declared',
  pawl_lanes: 'as many rows as combinations of type and resources',
  pawl_types: 'as many rows as types',
  pawl_migrations: 'as many rows as versions',
  sqlite_schema: 'as many rows as tables and indexes',
  sqlite_master: 'the same by its old name',
  pawl_counters: 'as many rows as counters',
  pawl_statistics: 'hours of 90 days, the nodes of the last 48 of them, and the minutes of the last few',
  sqlite_sequence: 'one row',
  json_each: 'the list that the statement was given',
}

// Partial indexes that stay small, though their table grows.
const SMALL_INDEXES: Readonly<Record<string, string>> = {
  pawl_nodes_live: 'as many entries as nodes live',
  pawl_reservations_waiting: 'as many entries as callers wait',
  pawl_reservations_running: 'as many entries as direct executions run',
  pawl_webhooks_live: 'as many entries as webhooks are subscribed',
}

// Searches by a range that stays small whatever the backlog and the history, and why.
const BOUNDED: Readonly<Record<string, string>> = {
  'select seq from pawl_jobs where seq > ? and seq < ? and lane_id = ? order by seq desc limit ? offset ?':
    'fewer Jobs than are entered at once in the lists of their lanes',
}

/** Statements that only damage from outside leads to. */
const AFTER_DAMAGE = new Set(['select 1 as found from pawl_queue where seq = ?'])

// Tables with as many rows as somebody has made by hand or by program, whatever the number of Jobs.
const CONFIGURED: Readonly<Record<string, string>> = {
  pawl_schedules: 'as many rows as schedules, also those that are switched off',
  pawl_templates: 'as many rows as templates, also archived ones',
}

/** Sorts all that it has read, and not ties alone. */
export const SORT = /USE TEMP B-TREE FOR (ORDER BY|GROUP BY|DISTINCT)/

/**
 * A page of a list walks a table or an index in the order in which it is shown, and stops when it is full. So it may sort
 * nothing, and leave out no row on the way: it could go on to the beginning of history.
 */
function isPageInOrder(sql: string, step: string, plan: readonly string[]): boolean {
  if (!/ order by [^()]+ limit \?$/.test(sql) || plan.some((other) => SORT.test(other))) return false
  const table = tableOf(sql, /^SCAN (\S+)/.exec(step)?.[1] ?? '')
  const afterTable = sql.slice(sql.lastIndexOf(`from ${table}`))
  return table in CONFIGURED || !/ where (?!true\b)/.test(afterTable)
}

/** Whether a step of a plan that says SCAN costs the same whatever the backlog and the history. */
export function isHarmlessScan(sql: string, step: string): boolean {
  if (AFTER_DAMAGE.has(sql)) return true
  const name = /^SCAN (\S+)/.exec(step)?.[1] ?? ''
  if (isSubquery(sql, name)) return true
  const index = /USING (?:COVERING )?INDEX (\w+)/.exec(step)?.[1] ?? ''
  if (tableOf(sql, name) in SMALL || index in SMALL_INDEXES) return true
  if (isBoundedSubquery(sql, name, index) || isBoundedCount(sql, name)) return true
  // What it inserts.
  if (/^SCAN \d+-ROW VALUES CLAUSE$/.test(step)) return true
  // The first row in the order of the key, whichever it is.
  return /^select [^()]* from \w+( order by \w+)? limit 1$/.test(sql)
}

/** Not a table: a constant row, or the rows of a subquery, whose own steps are looked at as well. */
function isSubquery(sql: string, name: string): boolean {
  return name === 'CONSTANT' || name.startsWith('(subquery-') || new RegExp(`\\) (as )?${name}\\b`).test(sql)
}

/**
 * A subquery that reads the latest so many rows, and stops. It may leave out none on the way, or it could go on to the
 * beginning; unless an index has left them out already.
 */
function isBoundedSubquery(sql: string, table: string, index: string): boolean {
  const condition = index === '' ? '' : '( indexed by \\w+)?( where [^()]*)?'
  return new RegExp(`\\(select seq from ${table}${condition} order by seq desc limit \\d+\\)`).test(sql)
}

/** A count that stops at its limit. It counts every row, or every row of a partial index. */
function isBoundedCount(sql: string, table: string): boolean {
  return new RegExp(`from \\(select 1 from ${table}( where \\w+ = (\\d|'\\w+'))? limit \\?\\)$`).test(sql)
}

export function oneLine(sql: string): string {
  // As it was written: see BOUND_LIMIT in connection.ts.
  const written = sql.replaceAll('limit ? + 0', 'limit ?')
  return written.trim().replace(/\s+/g, ' ').replaceAll('( ', '(').replaceAll(' )', ')')
}

/** The table that a plan calls by this name. */
function tableOf(sql: string, name: string): string {
  const tables = sql.matchAll(
    /\b(?:from|join|update|into|,) (pawl_\w+|sqlite_\w+|json_each\b)[^ ,]*(?: (?:as )?(\w+))?/g,
  )
  for (const [, table = '', alias] of tables) if (alias === name) return table
  return name
}
