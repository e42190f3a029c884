import { PawlError } from '../domain/errors.ts'
import { readText, readWord, refuseUnknownKeys } from '../domain/options.ts'
import type { Template } from '../domain/template.ts'
import type { Page } from '../store/jobs.ts'
import type { OperationContext } from './context.ts'
import { type PageOptions, readPage } from './read-history.ts'

export interface TemplateListOptions extends PageOptions {
  /** @default 'active' */
  readonly state?: 'active' | 'archived' | 'any'
}

export async function getTemplate(context: OperationContext, templateId: string): Promise<Template> {
  const template = await context.store.findTemplate(readText(templateId, 'templateId'))
  if (template === null) throw templateNotFound(templateId)
  return template
}

/** Newest first. */
export function listTemplates(context: OperationContext, options: TemplateListOptions = {}): Promise<Page<Template>> {
  refuseUnknownKeys(options, ['limit', 'cursor', 'state'], '')
  const state = readWord(options.state ?? 'active', ['active', 'archived', 'any'], 'state')
  return context.store.listTemplates({ ...readPage(options), state })
}

export function templateNotFound(templateId: string): PawlError {
  return new PawlError('template_not_found', `There is no template ${templateId}.`, { details: { templateId } })
}
