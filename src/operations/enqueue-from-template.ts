import { readText } from '../domain/options.ts'
import { mergeParams, type Template } from '../domain/template.ts'
import type { EnqueueRequest } from '../engine/enqueue.ts'
import { usableTemplate } from '../engine/schedule-firing.ts'
import type { EnqueuedItem } from '../store/jobs.ts'
import type { OperationContext } from './context.ts'
import { enqueueJob, enqueueJobWithin } from './enqueue-jobs.ts'
import { type EnqueueOptions, readEnqueueOptions } from './enqueue-options.ts'
import { readJson } from './template-options.ts'

/**
 * Accepts one Job of a template: what JSON makes of `overrides` over its default params, key by key at the top. Retries and
 * timeout are as the options say, then as the template says, then as its type does.
 */
export async function enqueueFromTemplate(
  context: OperationContext,
  templateId: string,
  overrides?: unknown,
  options?: EnqueueOptions,
  tx?: object,
): Promise<EnqueuedItem> {
  const request = await requestFromTemplate(context, templateId, overrides, options)
  return tx === undefined ? enqueueJob(context, request) : enqueueJobWithin(context, tx, request)
}

/** What such a request asks for, with the template as it is now. */
export async function requestFromTemplate(
  context: OperationContext,
  templateId: string,
  overrides?: unknown,
  options?: EnqueueOptions,
): Promise<EnqueueRequest> {
  const template = await usableTemplate(context, readText(templateId, 'templateId'))
  return requestOf(template, overrides, options, context.clock.now())
}

/** What a request that names a template asks for. */
export function requestOf(
  template: Template,
  overrides: unknown,
  options: EnqueueOptions | undefined,
  now: number,
): EnqueueRequest {
  const params = mergeParams(template.defaultParams, readJson(overrides, 'overrides'))
  const request = readEnqueueOptions(template.type, params, options, now)
  return {
    ...request,
    templateId: template.templateId,
    retry: template.retry === null ? request.retry : [template.retry, ...request.retry],
    timeoutMs: request.timeoutMs === undefined ? template.timeoutMs : request.timeoutMs,
  }
}
