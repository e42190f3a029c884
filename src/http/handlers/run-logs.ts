import type { z } from 'zod'
import { wireInstant } from '../../domain/wire.ts'
import type { OperationContext } from '../../operations/context.ts'
import { readLogs } from '../../operations/read-history.ts'
import type { logQuery } from '../contract/run.ts'
import { ok } from './answer.ts'

const LOG_LIMIT_DEFAULT = 50

/** A page of what a handler logged. Lines are numbered without gaps, so the last one's number says where to go on. */
export async function okLogs(context: OperationContext, runId: string, query: z.output<typeof logQuery>) {
  const { limit = LOG_LIMIT_DEFAULT } = query
  const after = query.after ?? query.cursor ?? 0
  const lines = await readLogs(context, runId, { after, limit })
  const items = lines.map(({ at, level, text, fields }, index) => ({
    line: after + index + 1,
    at: wireInstant(at),
    level,
    text,
    fields,
  }))
  return ok({ items, next_cursor: lines.length === limit ? String(after + lines.length) : null })
}
