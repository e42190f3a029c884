import type { JsonValue } from '../../domain/json.ts'
import type { RetryOverrides } from '../../domain/retry.ts'
import type { Template } from '../../domain/template.ts'

export const TEMPLATE_COLUMNS = `
  template_id, name, type, default_params, retry, timeout, description, revision, created_at, updated_at, archived_at`

export type TemplateRow = {
  template_id: string
  name: string
  type: string
  default_params: string
  retry: string | null
  timeout: string | null
  description: string | null
  revision: number
  created_at: number
  updated_at: number
  archived_at: number | null
}

/** The columns that a change replaces, in the order of the statements that write them. */
export function templateDefinition(template: Template): (string | null)[] {
  return [
    template.name,
    template.type,
    JSON.stringify(template.defaultParams),
    template.retry === null ? null : JSON.stringify(template.retry),
    // As JSON, so that "no timeout" and "as the type says" differ.
    template.timeoutMs === undefined ? null : JSON.stringify(template.timeoutMs),
    template.description,
  ]
}

export function toTemplate(row: TemplateRow): Template {
  return {
    templateId: row.template_id,
    name: row.name,
    type: row.type,
    defaultParams: JSON.parse(row.default_params) as JsonValue,
    retry: row.retry === null ? null : (JSON.parse(row.retry) as RetryOverrides),
    timeoutMs: row.timeout === null ? undefined : (JSON.parse(row.timeout) as number | null),
    description: row.description,
    revision: row.revision,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    archivedAt: row.archived_at,
  }
}
