import type { Template } from '../domain/template.ts'
import type { Page } from './jobs.ts'

export interface TemplateFilter {
  /** @default 'active' */
  readonly state?: 'active' | 'archived' | 'any'
  readonly limit: number
  readonly cursor?: string | null
}

export interface TemplateStore {
  createTemplate(template: Template): Promise<void>

  /** Replaces what may change of a template. `stale`: somebody changed it since that revision. */
  changeTemplate(change: {
    /** The template as it shall be; its revision is the one that the change was decided on. */
    readonly template: Template
    readonly now: number
  }): Promise<'changed' | 'stale' | 'archived' | 'not-found'>

  /** No new Jobs from now on. Archiving twice changes nothing. `stale`: it is not at that revision. */
  archiveTemplate(
    templateId: string,
    now: number,
    revision?: number | null,
  ): Promise<'archived' | 'stale' | 'not-found'>

  findTemplate(templateId: string): Promise<Template | null>

  /** Newest first. */
  listTemplates(filter: TemplateFilter): Promise<Page<Template>>
}
