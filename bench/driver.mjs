/** The SQLite library that Pawl uses by default on this Node, so that both sides of every ratio go through the same one. */
export const DRIVER = Number(process.versions.node.split('.')[0]) >= 24 ? 'node:sqlite' : '@photostructure/sqlite'

const { DatabaseSync } = await import(DRIVER)

// The same as in src/stores/sqlite/open-database.ts.
const PRAGMAS = `
pragma busy_timeout = 2;
pragma foreign_keys = on;
pragma trusted_schema = off;
pragma temp_store = memory;
pragma cache_size = -32768;
pragma journal_mode = wal;
pragma synchronous = full;
pragma fullfsync = on;
pragma checkpoint_fullfsync = on;
pragma journal_size_limit = 67108864;
pragma wal_autocheckpoint = 4000;`

export function openWithPragmas(path) {
  const database = openPlain(path)
  database.exec(PRAGMAS)
  return database
}

export function openPlain(path) {
  return new DatabaseSync(path)
}

/** Moves what was written into the database file, so that every side is measured from the same beginning. */
export function checkpoint(path) {
  const database = openPlain(path)
  database.exec('pragma wal_checkpoint(truncate)')
  database.close()
}

export function sqliteVersion() {
  const database = openPlain(':memory:')
  const { version } = database.prepare('select sqlite_version() as version').get()
  database.close()
  return version
}
