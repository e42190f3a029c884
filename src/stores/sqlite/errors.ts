import { type ErrorCode, PawlError } from '../../domain/errors.ts'

/** The primary result codes of SQLite that Pawl tells apart. */
const SQLITE = {
  BUSY: 5,
  LOCKED: 6,
  NOMEM: 7,
  READONLY: 8,
  INTERRUPT: 9,
  IOERR: 10,
  CORRUPT: 11,
  FULL: 13,
  CANTOPEN: 14,
  PROTOCOL: 15,
  SCHEMA: 17,
  NOTADB: 26,
} as const

/** What SQLite says for each of them, where that is all a library passes on: `all` of @photostructure/sqlite. */
const SENTENCES: Readonly<Record<string, number>> = {
  'database is locked': SQLITE.BUSY,
  'database table is locked': SQLITE.LOCKED,
  'out of memory': SQLITE.NOMEM,
  'attempt to write a readonly database': SQLITE.READONLY,
  interrupted: SQLITE.INTERRUPT,
  'disk I/O error': SQLITE.IOERR,
  'database disk image is malformed': SQLITE.CORRUPT,
  'database or disk is full': SQLITE.FULL,
  'unable to open database file': SQLITE.CANTOPEN,
  'locking protocol': SQLITE.PROTOCOL,
  'database schema has changed': SQLITE.SCHEMA,
  'file is not a database': SQLITE.NOTADB,
}

const NODE_CODE = 'ERR_SQLITE_ERROR'

/** node:sqlite gives numbers in `errcode`, better-sqlite3 names in `code`. */
function primaryCode(error: unknown): number | null {
  if (!(error instanceof Error)) return null
  const { errcode, code } = error as { errcode?: unknown; code?: unknown }
  if (typeof errcode === 'number') return errcode & 0xff
  if (code === NODE_CODE) return SENTENCES[error.message] ?? null
  if (typeof code !== 'string' || !code.startsWith('SQLITE_')) return null
  const name = code.slice('SQLITE_'.length)
  const known = Object.entries(SQLITE).find(([key]) => name === key || name.startsWith(`${key}_`))
  return known?.[1] ?? null
}

/** Another connection holds the lock: the same call may succeed a moment later. */
export function isBusy(error: unknown): boolean {
  const code = primaryCode(error)
  // PROTOCOL: too many others were at the log at once.
  return code === SQLITE.BUSY || code === SQLITE.LOCKED || code === SQLITE.PROTOCOL
}

/** The library itself complains, whatever about, but not of others who hold a lock. */
export function isOfLibrary(error: unknown): boolean {
  if (!(error instanceof Error) || isBusy(error)) return false
  const { code } = error as { code?: unknown }
  return code === NODE_CODE || (typeof code === 'string' && code.startsWith('SQLITE_'))
}

/** The file does not even begin like a SQLite database. */
export function isNotDatabase(error: unknown): boolean {
  return primaryCode(error) === SQLITE.NOTADB
}

const WORDS: Readonly<Record<number, readonly [ErrorCode, string]>> = {
  [SQLITE.NOMEM]: ['database_unavailable', 'could not be used: SQLite is out of memory'],
  [SQLITE.INTERRUPT]: ['database_unavailable', 'could not be used: the operation was interrupted'],
  [SQLITE.PROTOCOL]: ['store_busy', 'is used by too many processes at once'],
  [SQLITE.SCHEMA]: ['database_unavailable', 'was changed by another process while it was read'],
  [SQLITE.READONLY]: ['database_unavailable', 'cannot be written: it, or its folder, is read-only for this user'],
  [SQLITE.IOERR]: [
    'database_unavailable',
    'could not be read or written: the operating system reported an I/O error. Check the disk, and the space and quota left on it, and try again',
  ],
  [SQLITE.CORRUPT]: [
    'database_corrupt',
    'is damaged. Restore a backup, or recover what is left with `sqlite3 file .recover`',
  ],
  [SQLITE.FULL]: ['storage_full', 'could not be written: the disk is full. Nothing was stored'],
  [SQLITE.CANTOPEN]: [
    'database_unavailable',
    'cannot be opened. Check that this user may read and write it, and that its folder exists and is writable',
  ],
  [SQLITE.NOTADB]: ['database_not_ours', 'is not a SQLite database. It was left untouched'],
  [SQLITE.BUSY]: ['store_busy', 'stayed locked by another process for too long'],
  [SQLITE.LOCKED]: ['store_busy', 'stayed locked by another connection for too long'],
}

/** An error of the SQLite library or of the file system as an error of Pawl with a code; anything else as it is. */
export function translateError(error: unknown, path: string): unknown {
  if (error instanceof PawlError) return error
  const words = WORDS[primaryCode(error) ?? -1] ?? wordsOfFileSystem(error) ?? wordsOfDamage(error)
  if (words === undefined) return error
  const [code, sentence] = words
  return new PawlError(code, `The database ${path} ${sentence}.`, { cause: error, details: { path } })
}

function wordsOfFileSystem(error: unknown): readonly [ErrorCode, string] | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, syscall } = error as NodeJS.ErrnoException
  if (code === undefined || syscall === undefined) return undefined
  if (code === 'ENOSPC') return WORDS[SQLITE.FULL]
  return ['database_unavailable', `could not be read or written (${code}). Check that this user may do so`]
}

/**
 * What SQLite says of statements that are right when the tables, the format, the rows or the JSON in them are not as Pawl has made
 * them: it has no code of its own for that. No statement of Pawl's breaks a constraint where all rows are there that should be.
 */
const NOT_AS_MADE =
  /^(unsupported file format|malformed JSON|no such (table|column|index)\b|(UNIQUE|FOREIGN KEY|CHECK|NOT NULL) constraint failed|cannot store \w+ value in )/

/** All JSON in the database was written as such; what cannot be parsed any more has changed since. */
function wordsOfDamage(error: unknown): readonly [ErrorCode, string] | undefined {
  const isDamage = error instanceof SyntaxError || (isOfLibrary(error) && NOT_AS_MADE.test((error as Error).message))
  if (!isDamage) return undefined
  return [
    'database_corrupt',
    `is not as Pawl has made it (${(error as Error).message}). Restore a backup, or recover what is left with \`sqlite3 file .recover\``,
  ]
}
