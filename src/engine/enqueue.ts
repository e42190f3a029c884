import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import type { OnParentFailure } from '../domain/dependency.ts'
import { PawlError } from '../domain/errors.ts'
import { type JobPolicy, PRIORITY_MAX, PRIORITY_MIN } from '../domain/job.ts'
import { encodeJson, PARAMS_BYTES_MAX } from '../domain/json.ts'
import { mergeRetry, type RetryOverrides } from '../domain/retry.ts'
import type { NewJob } from '../store/jobs.ts'
import { checkParams, type ParamsCheck, type RegisteredType } from './job-type.ts'

/** A request as a door hands it over: options checked, params not yet. */
export interface EnqueueRequest {
  readonly type: string
  readonly params: unknown
  readonly priority: number
  readonly runAt: number | null
  readonly name: string | null
  readonly tags: readonly string[]
  readonly createdBy: string | null
  readonly businessKey: string | null
  readonly idempotencyKey: string | null
  readonly timeoutMs: number | null | undefined
  /** What is said otherwise than the type says, the last word last. */
  readonly retry: readonly RetryOverrides[]
  readonly templateId: string | null
  readonly scheduleId: string | null
  readonly slotAt: number | null
  readonly dependsOn: readonly string[]
  readonly onParentFailure: OnParentFailure
  readonly webhookUrl: string | null
}

/** What the engine must know to accept a Job of a type. Where no handler is at hand, only the stored policy. */
export interface AcceptedType {
  readonly policy: JobPolicy
  readonly handler: RegisteredType | null
}

/** Turns a request into a Job that can be written, or throws what is wrong with it. Nothing is stored here. */
export function prepareJob(request: EnqueueRequest, accepted: AcceptedType, jobId: string): NewJob | Promise<NewJob> {
  const prepared = prepareParams(request.type, request.params, accepted.handler)
  return prepared instanceof Promise
    ? prepared.then((params) => assemble(request, accepted, jobId, params))
    : assemble(request, accepted, jobId, prepared)
}

/** Params as JSON text. */
export interface PreparedParams {
  /** What the Job gets. */
  readonly stored: string
  /** What the caller sent: the same request must have the same fingerprint, whatever the schema makes of it. */
  readonly given: string
}

/** Params as the type's schema accepts them, or an error that says what is wrong. Without a handler only their size counts. */
export function prepareParams(
  type: string,
  params: unknown,
  handler: RegisteredType | null,
): PreparedParams | Promise<PreparedParams> {
  const given = encodeParams(params)
  if (handler === null || handler.schema === null) return { stored: given, given }
  const check = checkParams(handler.schema, params)
  const finish = (checked: ParamsCheck): PreparedParams | Promise<PreparedParams> => {
    const text = encodeParams(requireValid(checked, type))
    if (text === given) return { stored: given, given }
    const stable = isAcceptedBack(handler, text)
    const choose = (stays: boolean): PreparedParams => ({ stored: stays ? text : given, given })
    return stable instanceof Promise ? stable.then(choose) : choose(stable)
  }
  return check instanceof Promise ? check.then(finish) : finish(check)
}

/**
 * What the schema returned is stored (with defaults filled in) when the schema takes it back unchanged. A schema that
 * turns its input into something else, such as a text into a number, gets the input again when the Job runs.
 */
function isAcceptedBack(handler: RegisteredType, text: string): boolean | Promise<boolean> {
  const same = (check: ParamsCheck): boolean => {
    if (check.kind === 'invalid') return false
    const again = encodeJson(check.value, PARAMS_BYTES_MAX)
    return again.kind === 'ok' && again.text === text
  }
  const check = checkParams(handler.schema, JSON.parse(text))
  return check instanceof Promise ? check.then(same) : same(check)
}

function requireValid(check: ParamsCheck, type: string): unknown {
  if (check.kind === 'valid') return check.value
  throw new PawlError(
    'invalid_params',
    `Invalid params for job type \`${type}\` at \`${check.path}\`: ${check.message}`,
    {
      path: check.path,
    },
  )
}

function encodeParams(params: unknown): string {
  const encoded = encodeJson(params, PARAMS_BYTES_MAX)
  switch (encoded.kind) {
    case 'ok':
      return encoded.text
    case 'unserialisable':
      throw new PawlError(
        'unserialisable_params',
        `Expected params that can be written as JSON, but ${encoded.message}.`,
        {
          path: 'params',
        },
      )
    case 'too-large':
      throw new PawlError(
        'params_too_large',
        `Expected params of at most ${encoded.bytesMax} bytes as JSON, got ${encoded.bytes} bytes. ` +
          'Store the data elsewhere and pass a reference to it.',
        { path: 'params', details: { bytes: encoded.bytes, bytesMax: encoded.bytesMax } },
      )
  }
}

function assemble(request: EnqueueRequest, accepted: AcceptedType, jobId: string, params: PreparedParams): NewJob {
  return {
    jobId,
    type: request.type,
    name: request.name,
    params: params.stored,
    priority: request.priority,
    runAt: request.runAt,
    policy: effectivePolicy(request, accepted.policy),
    tags: request.tags,
    createdBy: request.createdBy,
    businessKey: request.businessKey,
    idempotency:
      request.idempotencyKey === null
        ? null
        : { key: request.idempotencyKey, fingerprint: fingerprint(request.type, params.given) },
    templateId: request.templateId,
    scheduleId: request.scheduleId,
    slotAt: request.slotAt,
    dependsOn: request.dependsOn,
    onParentFailure: request.onParentFailure,
    webhookUrl: request.webhookUrl,
  }
}

function effectivePolicy(request: EnqueueRequest, policy: JobPolicy): JobPolicy {
  if (request.retry.length === 0 && request.timeoutMs === undefined) return policy
  return {
    retry: request.retry.reduce(mergeRetry, policy.retry),
    timeoutMs: request.timeoutMs === undefined ? policy.timeoutMs : request.timeoutMs,
    resources: policy.resources,
  }
}

/** The same for the same type and params, however the keys of the params are ordered. */
function fingerprint(type: string, params: string): string {
  return createHash('sha256').update(canonicalText(type, params)).digest('hex')
}

/** Canonical JSON knows no half of a surrogate pair. Params with one are taken as they were written. */
function canonicalText(type: string, params: string): string {
  try {
    return canonicalize([type, JSON.parse(params)]) ?? ''
  } catch {
    return `[${JSON.stringify(type)},${params}]`
  }
}

export function isPriority(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= PRIORITY_MIN && value <= PRIORITY_MAX
}
