import { PawlError } from '../domain/errors.ts'
import { encodeJson, type JsonValue, PARAMS_BYTES_MAX } from '../domain/json.ts'
import { type RetryOptions, readRetryOverrides, readText, refuseUnknownKeys } from '../domain/options.ts'
import type { Template } from '../domain/template.ts'
import { readStorable, readTimeout } from './enqueue-options.ts'

export interface TemplateOptions {
  readonly name: string
  /** The job type of which it makes Jobs. */
  readonly type: string
  /** Params that a Job has unless the request overrides them. @default {} */
  readonly defaultParams?: unknown
  /** Overrides the type's retry policy, as far as it names it. `'inherit'` or null: as the type says. @default 'inherit' */
  readonly retry?: RetryOptions | 'inherit' | null
  /** Overrides the type's timeout; null for none. `'inherit'`: as the type says. @default 'inherit' */
  readonly timeoutMs?: number | 'inherit' | null
  /** For people. */
  readonly description?: string | null
}

export interface TemplateChange extends Partial<TemplateOptions> {
  /** The revision you decided on: when somebody changed the template since, this change is refused. */
  readonly revision?: number
}

const TEMPLATE_KEYS = ['name', 'type', 'defaultParams', 'retry', 'timeoutMs', 'description'] as const

const NAME_LENGTH_MAX = 512
export const DESCRIPTION_LENGTH_MAX = 4_096

/** What a template says about its Jobs. */
type TemplateDefinition = Pick<Template, (typeof TEMPLATE_KEYS)[number]>

/** Checks the options of a new template. Whether the type is known is asked elsewhere. */
export function readTemplateOptions(options: TemplateOptions): TemplateDefinition {
  refuseUnknownKeys(options, TEMPLATE_KEYS, '')
  const blank = { defaultParams: {}, retry: null, timeoutMs: undefined, description: null }
  return { name: readName(options.name), type: readText(options.type, 'type'), ...blank, ...readGiven(options) }
}

/** Checks a change. What it does not name stays as it is. */
export function readTemplateChange(options: TemplateChange): Partial<TemplateDefinition> {
  refuseUnknownKeys(options, [...TEMPLATE_KEYS, 'revision'], '')
  refuseEmptyChange(options, TEMPLATE_KEYS)
  return readGiven(options)
}

function readGiven(options: Partial<TemplateOptions>): Partial<TemplateDefinition> {
  const { name, type, defaultParams, retry, timeoutMs, description } = options
  return {
    ...(name !== undefined && { name: readName(name) }),
    ...(type !== undefined && { type: readText(type, 'type') }),
    ...(defaultParams !== undefined && { defaultParams: readJson(defaultParams, 'defaultParams') }),
    ...(retry !== undefined && { retry: retry === null || retry === 'inherit' ? null : readRetryOverrides(retry) }),
    ...(timeoutMs !== undefined && { timeoutMs: timeoutMs === 'inherit' ? undefined : readTimeout(timeoutMs) }),
    ...(description !== undefined && {
      description: description === null ? null : readStorable(description, 'description', DESCRIPTION_LENGTH_MAX),
    }),
  }
}

export function readName(name: unknown): string {
  return readStorable(name ?? null, 'name', NAME_LENGTH_MAX) as string
}

/** A change that names nothing is a mistake: a misspelt field, or a variable that is not set. */
export function refuseEmptyChange(options: object, keys: readonly string[]): void {
  if (keys.some((key) => (options as Record<string, unknown>)[key] !== undefined)) return
  throw new PawlError('invalid_option', `Expected something to change, at least one of: ${keys.join(', ')}.`)
}

/** The value as JSON would give it back, or an error that says why it cannot be kept. */
export function readJson(value: unknown, path: string): JsonValue {
  const encoded = encodeJson(value, PARAMS_BYTES_MAX)
  switch (encoded.kind) {
    case 'ok':
      return JSON.parse(encoded.text) as JsonValue
    case 'unserialisable':
      throw new PawlError(
        'unserialisable_params',
        `Expected \`${path}\` to be something that can be written as JSON, but ${encoded.message}.`,
        { path },
      )
    case 'too-large':
      throw new PawlError(
        'params_too_large',
        `Expected \`${path}\` of at most ${encoded.bytesMax} bytes as JSON, got ${encoded.bytes} bytes. ` +
          'Store the data elsewhere and pass a reference to it.',
        { path, details: { bytes: encoded.bytes, bytesMax: encoded.bytesMax } },
      )
  }
}
