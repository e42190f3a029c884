import type { z } from 'zod'
import type { OperationContext } from '../../operations/context.ts'
import { readOutput } from '../../operations/read-output.ts'
import type { outputQuery } from '../contract/run.ts'
import { ok } from './answer.ts'
import { given } from './given.ts'

/** A part of what a child process printed. Without a Run there is nothing yet. */
export async function okOutput(context: OperationContext, runId: string | null, query: z.output<typeof outputQuery>) {
  if (runId === null) return ok({ text: '', next_after: query.after ?? 0, size_bytes: 0 })
  const { text, next, size } = await readOutput(context, runId, given({ after: query.after, limit: query.limit }))
  return ok({ text, next_after: next, size_bytes: size })
}
