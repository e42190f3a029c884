import type { AuditEntry, AuditNote } from '../../store/audit.ts'
import type { Transition } from '../../store/events.ts'
import type { Page } from '../../store/jobs.ts'

export const AUDIT_COLUMNS = 'audit_seq, at, actor, action, subject, others, details'

export type AuditRow = {
  audit_seq: number
  at: number
  actor: string
  action: string
  subject: string | null
  others: number
  details: string | null
}

export function toAuditPage(rows: readonly AuditRow[], limit: number): Page<AuditEntry> {
  const last = rows[rows.length - 1]
  return {
    items: rows.map(({ audit_seq, ...entry }) => ({ auditId: String(audit_seq), ...entry })),
    nextCursor: rows.length === limit && last !== undefined ? String(last.audit_seq) : null,
  }
}

/** Entries of a subject among which a page looks for those of an actor. */
export const LOOK_MAX = 1_000

/** A page of those that one actor left, of the rows that were looked at. */
export function toActorPage(looked: readonly AuditRow[], actor: string, limit: number): Page<AuditEntry> {
  const page = toAuditPage(looked.filter((row) => row.actor === actor).slice(0, limit), limit)
  if (page.nextCursor !== null || looked.length < LOOK_MAX) return page
  return { ...page, nextCursor: String(looked[LOOK_MAX - 1]?.audit_seq) }
}

/** What it is about, and how many more things it made. */
export function subjectOf(note: AuditNote, made: readonly string[]): { subject: string | null; others: number } {
  const subject = note.subject ?? made[0] ?? null
  return { subject, others: made.length - (note.subject === null && subject !== null ? 1 : 0) }
}

/** The Jobs that were accepted from this transition on. */
export function queuedSince(transitions: readonly Transition[], from: number): ReadonlySet<string> {
  const queued = new Set<string>()
  for (let index = from; index < transitions.length; index++) {
    const transition = transitions[index]
    if (transition?.kind === 'job.queued') queued.add(transition.jobId)
  }
  return queued
}
