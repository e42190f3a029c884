import type { JsonObject } from '../domain/json.ts'
import { readText, refuseUnknownKeys } from '../domain/options.ts'
import type { AuditEntry, AuditNote } from '../store/audit.ts'
import type { Page } from '../store/jobs.ts'
import type { OperationContext } from './context.ts'
import { type PageOptions, readPage } from './read-history.ts'

/** Who asks for a change, and which. */
export interface Asked {
  /** Whom a person would hold responsible: `key:<name>`, `cli:<user>` or `anonymous`. */
  readonly actor: string
  /** What is asked for, such as `job.cancel`. */
  readonly action: string
  /** What it is asked of. Null: it makes something new, whose id the entry then names. */
  readonly subject: string | null
  /** What else is worth knowing: the fields that change, the mode of a cancel. No secrets, and no params. */
  readonly details?: JsonObject
}

/** Ids that an entry lists, of those that were made besides its subject. The rest is counted. */
const MADE_SHOWN_MAX = 20

/**
 * A context for one request, on which whatever an operation changes is noted in the transaction of the change. The ids
 * that the operation draws become what it made.
 */
export function auditedContext(context: OperationContext, asked: Asked): OperationContext {
  const drawn: string[] = []
  const note = noteOf(context, asked, () => drawn)
  return {
    ...context,
    store: context.store.audited(note),
    newId: () => {
      const id = context.newId()
      drawn.push(id)
      return id
    },
  }
}

/** Notes what changes nothing in the store: a node that is told to start or to stop. */
export function recordAudit(context: OperationContext, asked: Asked): Promise<void> {
  return context.store.recordAudit(noteOf(context, asked, () => []))
}

function noteOf(context: OperationContext, asked: Asked, made: AuditNote['made']): AuditNote {
  const { actor, action, subject, details = {} } = asked
  return {
    actor: readText(actor, 'actor'),
    action: readText(action, 'action'),
    subject,
    made,
    details: (ids) => {
      const shown = ids.slice(subject === null ? 1 : 0, MADE_SHOWN_MAX)
      const all = shown.length === 0 ? details : { ...details, made: shown }
      return Object.keys(all).length === 0 ? null : JSON.stringify(all)
    },
    at: context.clock.now(),
  }
}

export interface AuditListOptions extends PageOptions {
  /** Only what concerns this id. */
  readonly subject?: string
  /** Only what this one asked for. */
  readonly actor?: string
}

/** Newest first. */
export async function listAudit(context: OperationContext, options: AuditListOptions = {}): Promise<Page<AuditEntry>> {
  refuseUnknownKeys(options, ['limit', 'cursor', 'subject', 'actor'], '')
  const { subject, actor } = options
  return context.store.listAudit({
    ...readPage(options),
    ...(subject !== undefined && { subject: readText(subject, 'subject') }),
    ...(actor !== undefined && { actor: readText(actor, 'actor') }),
  })
}
