import type { Template } from '../../../domain/template.ts'
import type { Page } from '../../../store/jobs.ts'
import type { TemplateFilter } from '../../../store/templates.ts'
import { TEMPLATE_COLUMNS, type TemplateRow, templateDefinition, toTemplate } from '../../shared/template-rows.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'

const INSERT_TEMPLATE = `
insert into pawl.templates (
  name, type, default_params, retry, timeout, description, template_id, revision, created_at, updated_at, archived_at
) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`

export async function createTemplate({ connection }: Transaction, template: Template): Promise<void> {
  const { templateId, revision, createdAt, updatedAt, archivedAt } = template
  const definition = templateDefinition(template)
  await connection.run(INSERT_TEMPLATE, ...definition, templateId, revision, createdAt, updatedAt, archivedAt)
}

// 1 row: changed. 0 rows: it is not there, was archived, or somebody else changed it since that revision.
const UPDATE_TEMPLATE = `
update pawl.templates
set name = $1, type = $2, default_params = $3, retry = $4, timeout = $5, description = $6, revision = revision + 1,
  updated_at = $7
where template_id = $8 and revision = $9 and archived_at is null`

export async function changeTemplate(
  { connection }: Transaction,
  { template, now }: { readonly template: Template; readonly now: number },
): Promise<'changed' | 'stale' | 'archived' | 'not-found'> {
  const { templateId, revision } = template
  const definition = templateDefinition(template)
  if ((await connection.run(UPDATE_TEMPLATE, ...definition, now, templateId, revision)) === 1) return 'changed'
  const current = await findTemplate(connection, templateId)
  if (current === null) return 'not-found'
  return current.archivedAt === null ? 'stale' : 'archived'
}

// 1 row: archived now. 0 rows: it was before, it is not there, or it is not at that revision. Waits for those who make Jobs
// from it: they hold its row `for share`.
const ARCHIVE_TEMPLATE = `
update pawl.templates
set archived_at = $1, updated_at = $1, revision = revision + 1
where template_id = $2 and archived_at is null and revision = coalesce($3::integer, revision)`

export async function archiveTemplate(
  { connection }: Transaction,
  templateId: string,
  now: number,
  revision: number | null = null,
): Promise<'archived' | 'stale' | 'not-found'> {
  if ((await connection.run(ARCHIVE_TEMPLATE, now, templateId, revision)) === 1) return 'archived'
  const current = await findTemplate(connection, templateId)
  if (current === null) return 'not-found'
  return revision === null || current.revision === revision ? 'archived' : 'stale'
}

// As many rows as of these templates may be used. None of them is archived until this transaction ends.
const LOCK_USABLE = `
select template_id
from pawl.templates
where template_id = any($1::text[]) and archived_at is null
order by template_id
for share`

/** Whether new Jobs may be made from all of these, until this transaction ends. */
export async function lockUsableTemplates(connection: Connection, templateIds: ReadonlySet<string>): Promise<boolean> {
  if (templateIds.size === 0) return true
  return (await connection.all(LOCK_USABLE, [...templateIds])).length === templateIds.size
}

const SELECT_TEMPLATE = `select ${TEMPLATE_COLUMNS} from pawl.templates where template_id = $1`

export async function findTemplate(connection: Connection, templateId: string): Promise<Template | null> {
  const row = await connection.get<TemplateRow>(SELECT_TEMPLATE, templateId)
  return row === undefined ? null : toTemplate(row)
}

const STATES = { active: 'archived_at is null', archived: 'archived_at is not null', any: 'true' } as const

/** Ids grow with time, so they are the order and the cursor. */
export async function listTemplates(connection: Connection, filter: TemplateFilter): Promise<Page<Template>> {
  const { limit, cursor = null, state = 'active' } = filter
  const page = cursor === null ? '' : 'template_id < $2 and'
  const sql = `select ${TEMPLATE_COLUMNS} from pawl.templates where ${page} ${STATES[state]} order by template_id desc limit $1`
  const rows = await connection.all<TemplateRow>(sql, limit, ...(cursor === null ? [] : [cursor]))
  const nextCursor = rows.length === limit ? (rows[rows.length - 1]?.template_id ?? null) : null
  return { items: rows.map(toTemplate), nextCursor }
}
