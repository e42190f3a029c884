import type { Template } from '../domain/template.ts'
import { archiveTemplate } from '../operations/archive-template.ts'
import { changeTemplate } from '../operations/change-template.ts'
import type { OperationContext } from '../operations/context.ts'
import { createTemplate } from '../operations/create-template.ts'
import { getTemplate, listTemplates, type TemplateListOptions } from '../operations/read-templates.ts'
import type { RemoveOptions } from '../operations/revisions.ts'
import type { TemplateChange, TemplateOptions } from '../operations/template-options.ts'
import type { Page } from '../store/jobs.ts'
import { type AnyJobType, typeName } from './job-type.ts'

/** The templates of a scheduler: `scheduler.templates`. */
export class Templates {
  readonly #context: OperationContext
  readonly #call: Call

  /** @internal */
  constructor(context: OperationContext, call: Call) {
    this.#context = context
    this.#call = call
  }

  /** Keeps a type with default params and policy under a name. */
  create(options: OfType<TemplateOptions>): Promise<Template> {
    return this.#call(() => createTemplate(this.#context, withTypeName(options)))
  }

  /** Changes what Jobs that are made from now on will be. */
  change(templateId: string, change: OfType<TemplateChange>): Promise<Template> {
    return this.#call(() => changeTemplate(this.#context, templateId, withTypeName(change)))
  }

  /** No new Jobs are made from it any more. Its history stays. */
  archive(templateId: string, options?: RemoveOptions): Promise<Template> {
    return this.#call(() => archiveTemplate(this.#context, templateId, options))
  }

  get(templateId: string): Promise<Template> {
    return this.#call(() => getTemplate(this.#context, templateId))
  }

  /** Newest first. */
  list(options?: TemplateListOptions): Promise<Page<Template>> {
    return this.#call(() => listTemplates(this.#context, options))
  }
}

/** Refuses when the scheduler is closed. */
export type Call = <T>(work: () => Promise<T>) => Promise<T>

/** The same options, where the job type itself may stand for its name. */
export type OfType<Options extends { readonly type?: string }> = Omit<Options, 'type'> & {
  readonly [Key in keyof Pick<Options, 'type'>]: Options[Key] | AnyJobType
}

export function withTypeName<Options extends { readonly type?: string }>(options: OfType<Options>): Options {
  const { type } = (options ?? {}) as { readonly type?: AnyJobType | string }
  return (type === undefined ? options : { ...options, type: typeName(type) }) as unknown as Options
}
