/** The small part of a SQLite library that is needed to look at a file past Pawl. */
export interface Database {
  exec(sql: string): unknown
  prepare(sql: string): { all(): unknown[] }
  close(): void
}

const BUILT_IN_SINCE_NODE = 24

/** With the library that Pawl uses itself: two of them in one process would lose each other's locks. */
export async function openDatabase(path: string): Promise<Database> {
  const isBuiltIn = Number(process.versions.node.split('.')[0]) >= BUILT_IN_SINCE_NODE
  const { DatabaseSync } = (await import(isBuiltIn ? 'node:sqlite' : '@photostructure/sqlite')) as {
    DatabaseSync: new (path: string) => Database
  }
  return new DatabaseSync(path)
}
