import type { z } from 'zod'
import type { Template } from '../../domain/template.ts'
import { wireInstant, wireRetryOverrides } from '../../domain/wire.ts'
import { archiveTemplate } from '../../operations/archive-template.ts'
import { changeTemplate } from '../../operations/change-template.ts'
import { createTemplate } from '../../operations/create-template.ts'
import { getTemplate, listTemplates } from '../../operations/read-templates.ts'
import * as contract from '../contract/job-templates.ts'
import { created, ok } from './answer.ts'
import { given } from './given.ts'
import { type Route, route } from './handler.ts'
import { toRetryOptions } from './job-requests.ts'
import { okPage, pageOptions } from './pages.ts'
import { expectedRevision, revisionTag } from './versions.ts'

function wireTemplate(template: Template) {
  return {
    template_id: template.templateId,
    name: template.name,
    job_type: template.type,
    default_params: template.defaultParams,
    retry_policy: template.retry === null ? null : wireRetryOverrides(template.retry),
    timeout_ms: template.timeoutMs ?? null,
    inherits_timeout: template.timeoutMs === undefined,
    description: template.description,
    revision: template.revision,
    created_at: wireInstant(template.createdAt),
    updated_at: wireInstant(template.updatedAt),
    archived_at: wireInstant(template.archivedAt),
  }
}

function toOptions(body: z.output<typeof contract.changeTemplate.body>) {
  const { name, job_type, default_params, params, retry_policy, timeout_ms, description } = body
  return given({
    name,
    type: job_type,
    // Null is a value: only what is absent was not given.
    defaultParams: default_params === undefined ? params : default_params,
    retry: retry_policy == null ? retry_policy : toRetryOptions(retry_policy),
    timeoutMs: timeout_ms,
    description,
  })
}

export const templateRoutes: readonly Route[] = [
  route(contract.createTemplate, async ({ context, body }) => {
    const template = await createTemplate(context, { ...toOptions(body), name: body.name, type: body.job_type })
    return created(wireTemplate(template), `/api/job-templates/${template.templateId}`, revisionTag(template))
  }),

  route(contract.listTemplates, async ({ context, query }) => {
    const page = await listTemplates(context, { ...pageOptions(query), ...given({ state: query.state }) })
    return okPage(page, wireTemplate)
  }),

  route(contract.getTemplate, async ({ context, params }) => {
    const template = await getTemplate(context, params.template_id)
    return ok(wireTemplate(template), revisionTag(template))
  }),

  route(contract.changeTemplate, async ({ context, params, body, ifMatch }) => {
    const options = { ...toOptions(body), ...expectedRevision(ifMatch) }
    const template = await changeTemplate(context, params.template_id, options)
    return ok(wireTemplate(template), revisionTag(template))
  }),

  route(contract.archiveTemplate, async ({ context, params, ifMatch }) =>
    ok(wireTemplate(await archiveTemplate(context, params.template_id, expectedRevision(ifMatch)))),
  ),
]
