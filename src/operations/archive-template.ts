import { readText } from '../domain/options.ts'
import type { Template } from '../domain/template.ts'
import type { OperationContext } from './context.ts'
import { getTemplate, templateNotFound } from './read-templates.ts'
import { otherRevision, type RemoveOptions, readRemoveOptions } from './revisions.ts'

/** No new Jobs are made from it any more; schedules that use it are disabled at their next slot. Its history stays. */
export async function archiveTemplate(
  context: OperationContext,
  templateId: string,
  options: RemoveOptions = {},
): Promise<Template> {
  const revision = readRemoveOptions(options)
  const result = await context.store.archiveTemplate(readText(templateId, 'templateId'), context.clock.now(), revision)
  if (result === 'not-found') throw templateNotFound(templateId)
  if (result === 'stale') throw otherRevision('template', revision)
  return getTemplate(context, templateId)
}
