import { readText } from '../domain/options.ts'
import type { Template } from '../domain/template.ts'
import type { OperationContext } from './context.ts'
import { getTemplate, templateNotFound } from './read-templates.ts'

/** No new Jobs are made from it any more; schedules that use it are disabled at their next slot. Its history stays. */
export async function archiveTemplate(context: OperationContext, templateId: string): Promise<Template> {
  const result = await context.store.archiveTemplate(readText(templateId, 'templateId'), context.clock.now())
  if (result === 'not-found') throw templateNotFound(templateId)
  return getTemplate(context, templateId)
}
