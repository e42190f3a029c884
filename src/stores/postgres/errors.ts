import { type ErrorCode, PawlError } from '../../domain/errors.ts'

/** What `pg` adds to an error of the server: its SQLSTATE. Errors of the network have codes of Node instead. */
export function codeOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : null
}

/** The transaction was chosen as the victim of a deadlock, or met a conflict: all of it may be tried again. */
export function isConflict(error: unknown): boolean {
  const code = codeOf(error)
  return code === '40P01' || code === '40001'
}

/** Two wrote the same key at the same time: tried again, the later one finds what the other wrote. */
export function isDuplicate(error: unknown): boolean {
  return codeOf(error) === '23505'
}

/** The server answered with an error of its own, by its SQLSTATE, and the connection goes on. */
export function isRefusedStatement(error: unknown): boolean {
  const { severity } = error as { severity?: unknown }
  return (
    codeOf(error)?.length === 5 && !NETWORK.has(codeOf(error) as string) && severity !== 'FATAL' && severity !== 'PANIC'
  )
}

/**
 * What comes first on a connection fails because of what was sent before it by another: a statement was to be prepared there, in a
 * transaction that had failed before it came to that. Some versions of the driver tell the error of that transaction instead.
 */
export function isAboutNeighbour(error: unknown): boolean {
  return codeOf(error) === '26000' || codeOf(error) === '25P02'
}

/** The rows or the schema are not what Pawl writes: a value that cannot be read, a missing table or column, a broken page. */
export function isDamage(error: unknown): boolean {
  const code = codeOf(error)
  return code !== null && (/^(22|XX)/.test(code) || ['42P01', '42703', '42883', '42804'].includes(code))
}

const NETWORK = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
  'ECONNABORTED',
  'ENETDOWN',
  'EHOSTDOWN',
])

/** Connections, resources, shutdowns, the system, and a transaction that was idle for too long. A full disk has its own words. */
const AWAY = /^(08|57P|58|25P03|53[02-9])/

/** The server is not there, is restarting, or the way to it broke: later the same call may succeed. */
function isUnavailable(error: unknown): boolean {
  const code = codeOf(error)
  if (code !== null && (AWAY.test(code) || NETWORK.has(code))) return true
  return (
    error instanceof Error &&
    /connection (terminated|ended|timeout)|timeout exceeded|read timeout|not queryable/i.test(error.message)
  )
}

const NEVER_ASKED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENOENT', '53300', '57P03', '08001', '08004'])

/** There was no connection on which the server could have been asked for anything. */
function isNeverAsked(error: unknown): boolean {
  if (NEVER_ASKED.has(codeOf(error) ?? '')) return true
  return error instanceof Error && /connection timeout|timeout exceeded when trying to connect/i.test(error.message)
}

const WORDS: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  '28P01': ['database_unavailable', 'refused the password. Check the user and the password'],
  '28000': ['database_unavailable', 'refused the user. Check its pg_hba.conf and the user'],
  '3D000': ['database_unavailable', 'does not exist. Create it first'],
  '42501': ['database_unavailable', 'does not let this user do that. docs/postgres.md says which rights it needs'],
  '53100': ['storage_full', 'could not write: its disk is full. Nothing was stored'],
  '25006': ['database_unavailable', 'is read-only. Connect to the primary server'],
  '55P03': ['store_busy', 'kept a row locked for too long'],
  '57014': ['store_busy', 'cancelled the statement, because it took too long or somebody asked for it'],
}

/** An error of PostgreSQL or of the network as an error of Pawl with a code; anything else as it is. */
export function translateError(error: unknown, description: string): unknown {
  if (error instanceof PawlError) return error
  const words = WORDS[codeOf(error) ?? '']
  if (words !== undefined) {
    return new PawlError(words[0], `The database ${description} ${words[1]}.`, { cause: error })
  }
  // All JSON in the database was written as such; what cannot be parsed any more has changed since.
  if (error instanceof SyntaxError) {
    const message = `The database ${description} is not as Pawl has made it (${error.message}). Restore a backup.`
    return new PawlError('database_corrupt', message, { cause: error })
  }
  if (isConflict(error)) {
    const message = `The database ${description} met conflicts with others again and again. Nothing was stored; try again.`
    return new PawlError('store_busy', message, { cause: error })
  }
  if (isUnavailable(error)) {
    return isNeverAsked(error) ? notReached(error, description) : connectionLost(error, description)
  }
  return error
}

/** The same for an error of connecting: whatever it is, the server cannot be reached. */
export function unreachable(error: unknown, description: string): unknown {
  if (error instanceof Error && error.message.includes('client password must be a string')) {
    const advice = 'Give it in the URL, as PGPASSWORD or in the file .pgpass'
    return new PawlError('database_unavailable', `The database ${description} wants a password. ${advice}.`, {
      cause: error,
    })
  }
  const translated = translateError(error, description)
  return translated instanceof PawlError ? translated : notReached(error, description)
}

function notReached(error: unknown, description: string): PawlError {
  const message = `The database ${description} cannot be reached (${whyOf(error)}).`
  return new PawlError('database_unavailable', message, { cause: error })
}

function connectionLost(error: unknown, description: string): PawlError {
  const message =
    `The connection to the database ${description} was lost before it answered (${whyOf(error)}). What it was asked for may ` +
    'have been done, or not. With an idempotency key it is safe to ask for a job again.'
  return new PawlError('database_unavailable', message, { cause: error })
}

function whyOf(error: unknown): string {
  // Where a name has several addresses and none answers, only the code says something.
  const why = error instanceof Error ? error.message.replace(/\.$/, '') : ''
  return why === '' ? (codeOf(error) ?? 'no reason given') : why
}
