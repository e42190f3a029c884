import type { Template } from '../domain/template.ts'
import type { OperationContext } from './context.ts'
import { readTemplateOptions, type TemplateOptions } from './template-options.ts'

/** Keeps a type with default params and policy under a name. */
export async function createTemplate(context: OperationContext, options: TemplateOptions): Promise<Template> {
  const definition = readTemplateOptions(options)
  await context.types.get(definition.type)
  const now = context.clock.now()
  const template: Template = {
    ...definition,
    templateId: context.newId(),
    revision: 1,
    createdAt: now,
    updatedAt: now,
    archivedAt: null,
  }
  await context.store.createTemplate(template)
  return template
}
