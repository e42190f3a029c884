import type { Template } from '../../../domain/template.ts'
import type { Page } from '../../../store/jobs.ts'
import type { TemplateFilter } from '../../../store/templates.ts'
import { TEMPLATE_COLUMNS, type TemplateRow, templateDefinition, toTemplate } from '../../shared/template-rows.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'

const INSERT_TEMPLATE = `
insert into pawl_templates (
  name, type, default_params, retry, timeout, description, template_id, revision, created_at, updated_at, archived_at
) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

export function createTemplate(transaction: Transaction, template: Template): void {
  const { templateId, revision, createdAt, updatedAt, archivedAt } = template
  transaction.connection.run(
    INSERT_TEMPLATE,
    ...templateDefinition(template),
    templateId,
    revision,
    createdAt,
    updatedAt,
    archivedAt,
  )
}

// 1 row: changed. 0 rows: it is not there, was archived, or somebody else changed it since that revision.
const UPDATE_TEMPLATE = `
update pawl_templates
set name = ?, type = ?, default_params = ?, retry = ?, timeout = ?, description = ?, revision = revision + 1,
  updated_at = ?
where template_id = ? and revision = ? and archived_at is null`

export function changeTemplate(
  transaction: Transaction,
  { template, now }: { readonly template: Template; readonly now: number },
): 'changed' | 'stale' | 'archived' | 'not-found' {
  const { connection } = transaction
  const { templateId, revision } = template
  if (connection.run(UPDATE_TEMPLATE, ...templateDefinition(template), now, templateId, revision) === 1)
    return 'changed'
  const usable = isTemplateUsable(connection, templateId)
  if (usable === null) return 'not-found'
  return usable ? 'stale' : 'archived'
}

// 1 row: archived now. 0 rows: it was before, or it is not there.
const ARCHIVE_TEMPLATE = `
update pawl_templates
set archived_at = ?, updated_at = ?, revision = revision + 1
where template_id = ? and archived_at is null`

export function archiveTemplate(
  transaction: Transaction,
  templateId: string,
  now: number,
  revision: number | null = null,
): 'archived' | 'stale' | 'not-found' {
  const { connection } = transaction
  const current = revision === null ? null : findTemplate(connection, templateId)
  if (current !== null && current.revision !== revision) return 'stale'
  if (connection.run(ARCHIVE_TEMPLATE, now, now, templateId) === 1) return 'archived'
  return isTemplateUsable(connection, templateId) === null ? 'not-found' : 'archived'
}

const SELECT_ARCHIVED = 'select archived_at from pawl_templates where template_id = ?'

/** Whether new Jobs may be made from it. Null: there is no such template. */
export function isTemplateUsable(connection: Connection, templateId: string): boolean | null {
  const row = connection.get<{ archived_at: number | null }>(SELECT_ARCHIVED, templateId)
  return row === undefined ? null : row.archived_at === null
}

const SELECT_TEMPLATE = `select ${TEMPLATE_COLUMNS} from pawl_templates where template_id = ?`

export function findTemplate(connection: Connection, templateId: string): Template | null {
  const row = connection.get<TemplateRow>(SELECT_TEMPLATE, templateId)
  return row === undefined ? null : toTemplate(row)
}

const STATES = { active: 'archived_at is null', archived: 'archived_at is not null', any: 'true' } as const

/** Ids grow with time, so they are the order and the cursor. */
export function listTemplates(connection: Connection, filter: TemplateFilter): Page<Template> {
  const { limit, cursor = null, state = 'active' } = filter
  const page = cursor === null ? '' : 'template_id < ? and'
  const sql = `select ${TEMPLATE_COLUMNS} from pawl_templates where ${page} ${STATES[state]} order by template_id desc limit ?`
  const rows = connection.all<TemplateRow>(sql, ...(cursor === null ? [] : [cursor]), limit)
  const nextCursor = rows.length === limit ? (rows[rows.length - 1]?.template_id ?? null) : null
  return { items: rows.map(toTemplate), nextCursor }
}
