import { PawlError } from '../domain/errors.ts'
import type { Template } from '../domain/template.ts'
import type { OperationContext } from './context.ts'
import { getTemplate, templateNotFound } from './read-templates.ts'
import { changedMeanwhile, readExpectedRevision, refuseOtherRevision } from './revisions.ts'
import { readTemplateChange, type TemplateChange } from './template-options.ts'

/** How often a change is decided anew when others change the same thing at the same time. */
export const CHANGE_ATTEMPTS_MAX = 10

/** Changes what Jobs that are made from now on will be. Jobs that were made stay as they are. */
export async function changeTemplate(
  context: OperationContext,
  templateId: string,
  options: TemplateChange,
): Promise<Template> {
  const change = readTemplateChange(options)
  const expected = readExpectedRevision(options.revision)
  if (change.type !== undefined) await context.types.get(change.type)
  for (let attempt = 1; ; attempt++) {
    const current = await getTemplate(context, templateId)
    refuseOtherRevision('template', current.revision, expected)
    const now = context.clock.now()
    const result = await context.store.changeTemplate({ template: { ...current, ...change }, now })
    switch (result) {
      case 'changed':
        return { ...current, ...change, revision: current.revision + 1, updatedAt: now }
      case 'not-found':
        throw templateNotFound(templateId)
      case 'archived':
        throw new PawlError(
          'template_archived',
          `Template \`${current.name}\` (${templateId}) is archived; it cannot be changed any more.`,
          { details: { templateId } },
        )
      case 'stale':
        if (attempt === CHANGE_ATTEMPTS_MAX) throw changedMeanwhile('template')
    }
  }
}
