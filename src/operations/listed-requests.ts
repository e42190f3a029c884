import type { Template } from '../domain/template.ts'
import { usableTemplate } from '../engine/schedule-firing.ts'
import { atIndex } from './at-index.ts'
import type { OperationContext } from './context.ts'
import { requestOf } from './enqueue-from-template.ts'
import type { ListedRequest } from './enqueue-jobs.ts'
import { type EnqueueOptions, readEnqueueOptions, readStorable } from './enqueue-options.ts'

/** One Job of a list, of a type or of a template. */
export interface ListedItem {
  readonly source: { readonly type: string } | { readonly templateId: string }
  /** Of the type, or overrides over the template's default params. */
  readonly params: unknown
  readonly options: EnqueueOptions
  /** A local name: other Jobs of the list may depend on it with `dependsOn: ['#name']`. */
  readonly ref: string | undefined
}

export const REF_LENGTH_MAX = 128

/** Jobs that are read before others get a turn of the event loop. */
const READ_AT_ONCE = 1_000

/** Checks the Jobs of a list, so that nothing wrong reaches the store. Each template is read once. */
export async function readListedItems(
  context: OperationContext,
  items: readonly ListedItem[],
): Promise<readonly ListedRequest[]> {
  const now = context.clock.now()
  const templates = new Map<string, Template>()
  const requests: ListedRequest[] = []
  for (const [index, item] of items.entries()) {
    const template =
      'type' in item.source ? null : await readTemplate(context, templates, item.source.templateId, index)
    requests.push(atIndex(index, () => readItem(item, template, now)))
    if (index % READ_AT_ONCE === READ_AT_ONCE - 1) await new Promise((resolve) => setImmediate(resolve))
  }
  return requests
}

async function readTemplate(
  context: OperationContext,
  known: Map<string, Template>,
  templateId: string,
  index: number,
): Promise<Template> {
  const seen = known.get(templateId)
  if (seen !== undefined) return seen
  const read = await usableTemplate(context, templateId).then(
    (template) => () => template,
    (error) => () => {
      throw error
    },
  )
  const template = atIndex(index, read)
  known.set(templateId, template)
  return template
}

function readItem({ source, params, options, ref }: ListedItem, template: Template | null, now: number): ListedRequest {
  const request =
    template === null
      ? readEnqueueOptions((source as { readonly type: string }).type, params, options, now)
      : requestOf(template, params, options, now)
  return { ...request, ref: readStorable(ref, 'ref', REF_LENGTH_MAX) }
}
