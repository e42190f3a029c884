import type { z } from 'zod'

/** Longer texts that came are cut in messages. */
const SHOWN_MAX = 60

/** Names of fields that a message lists. */
const NAMES_MAX = 30

/** What is wrong with one value, in our words: what was expected, and what came. Schemas that say it themselves keep their words. */
export function describeFault(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `Expected ${typeWords(issue)}, got ${show(issue.input)}.`
    case 'too_small':
      return `Expected ${quantity(issue.origin, 'at least', issue.minimum)}, got ${measure(issue.origin, issue.input)}.`
    case 'too_big':
      return `Expected ${quantity(issue.origin, 'at most', issue.maximum)}, got ${measure(issue.origin, issue.input)}.`
    case 'invalid_value':
      return `Expected ${issue.values.map(quote).join(' or ')}, got ${show(issue.input)}.`
    case 'invalid_union':
      return `Expected ${issue.discriminator === undefined ? 'another value' : `another \`${issue.discriminator}\``}, got ${show(issue.input)}.`
    case 'unrecognized_keys':
      return `Unknown field${issue.keys.length === 1 ? '' : 's'} ${issue.keys.slice(0, NAMES_MAX).map(cut).map(code).join(', ')}. ${knownFields(issue.inst)}`
    case 'invalid_format':
    case 'invalid_key':
    case 'invalid_element':
    case 'not_multiple_of':
    case 'custom':
      return `Expected another value, got ${show(issue.input)}.`
  }
}

function typeWords({ expected, inst }: { readonly expected: string; readonly inst?: Inspectable | undefined }): string {
  const { format } = (inst?._zod.def ?? {}) as { readonly format?: unknown }
  return format === 'safeint' ? 'a whole number' : (TYPE_WORDS[expected] ?? expected)
}

/** A schema, as far as its definition can be looked at. */
interface Inspectable {
  readonly _zod: { readonly def: object }
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  null: 'null',
}

function quantity(origin: string, bound: string, limit: number | bigint): string {
  switch (origin) {
    case 'string':
      return limit === 1 && bound === 'at least' ? 'a text that is not empty' : `a text of ${bound} ${limit} characters`
    case 'array':
      return limit === 1 && bound === 'at least' ? 'a list that is not empty' : `a list of ${bound} ${limit} items`
    default:
      return `${bound} ${limit}`
  }
}

function measure(origin: string, input: unknown): string {
  if (origin === 'string' && typeof input === 'string') return input === '' ? 'an empty one' : `${input.length}`
  if (origin === 'array' && Array.isArray(input)) return input.length === 0 ? 'an empty one' : `${input.length}`
  return show(input)
}

function knownFields(schema: Inspectable | undefined): string {
  const shape = (schema?._zod.def as { readonly shape?: object } | undefined)?.shape
  const names = Object.keys(shape ?? {})
  return names.length === 0 ? 'Expected none.' : `Expected one of: ${names.slice(0, NAMES_MAX).join(', ')}.`
}

/** Never the inside of objects and lists: they may be large, and may hold what is nobody's business. */
function show(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'an object'
  return typeof value === 'string' ? quote(cut(value)) : code(String(value as number | boolean))
}

function cut(text: string): string {
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX - 1)}…` : text
}

function quote(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : code(String(value))
}

function code(text: string): string {
  return `\`${text}\``
}
