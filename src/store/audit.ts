import type { Page } from './jobs.ts'

/** Who asked for a change, and which. */
export interface AuditNote {
  /** Whom a person would hold responsible: `key:<name>`, `cli:<user>` or `anonymous`. */
  readonly actor: string
  /** What was asked for, such as `job.cancel`. */
  readonly action: string
  /** What it was asked of: the id in the path. Null: it made something new. */
  readonly subject: string | null
  /**
   * The ids that were drawn for what it makes, the one it is about first. Asked for when the note is written, inside the
   * transaction. Those that came to nothing (a Job whose idempotency key meant another one) are left out.
   */
  readonly made: () => readonly string[]
  /** JSON text with what else is worth knowing, or null, given what was made. No secrets, and no params. */
  readonly details: (made: readonly string[]) => string | null
  readonly at: number
}

export interface AuditEntry {
  readonly auditId: string
  readonly at: number
  readonly actor: string
  readonly action: string
  /** The first id that it concerns, or null. */
  readonly subject: string | null
  /** How many more things it made than the one that is named. */
  readonly others: number
  /** JSON text */
  readonly details: string | null
}

export interface AuditFilter {
  readonly subject?: string
  readonly actor?: string
  readonly limit: number
  readonly cursor?: string | null
}

export interface AuditStore<Audited> {
  /**
   * The same store, on which every write that changes something leaves this note in the same transaction. What changes
   * nothing (a lost race, something that is not there) leaves none.
   */
  audited(note: AuditNote): Audited

  /** Leaves the note by itself: for what changes nothing in the store, such as a node that is told to stop. */
  recordAudit(note: AuditNote): Promise<void>

  /** Newest first. */
  listAudit(filter: AuditFilter): Promise<Page<AuditEntry>>

  /** Removes entries older than this instant, at most `limit`. Returns how many were removed. */
  pruneAudit(before: number, limit: number): Promise<number>

  /** How many entries are older than this instant. */
  countAudit(before: number): Promise<number>
}
