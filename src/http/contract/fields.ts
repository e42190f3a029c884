import { z } from 'zod'
import { JOB_TYPE_PATTERN, PRIORITY_MAX, PRIORITY_MIN } from '../../domain/job.ts'
import { DELAY_MAX_MS, RETRIES_MAX } from '../../domain/options.ts'
import {
  KEY_LENGTH_MAX,
  NAME_LENGTH_MAX,
  TAG_LENGTH_MAX,
  TAGS_MAX,
  TIMEOUT_MAX_MS,
} from '../../operations/enqueue-options.ts'

/** An id in a path may be any text: one that does not exist is not found, whatever its shape. */
export const pathId = z.string()

/** An id in a query or a body. */
export const id = z.string().min(1).max(KEY_LENGTH_MAX)

export const jobType = z
  .string()
  .regex(JOB_TYPE_PATTERN, { error: 'Expected a type name, such as `story`.' })
  .meta({ examples: ['story'] })

const INSTANT_WORDS = 'Expected an instant since 1970 in ISO-8601 with its offset, such as `2026-11-16T08:00:00Z`.'

export const instant = z.iso
  .datetime({ offset: true, error: INSTANT_WORDS })
  .refine((text) => Date.parse(text) >= 0, { error: INSTANT_WORDS })
  .meta({ examples: ['2026-11-16T08:00:00.000Z'] })

/** How instants leave: always UTC. */
export const instantOut = z.string().meta({ format: 'date-time', examples: ['2026-11-16T08:00:00.000Z'] })

export const priority = z
  .int()
  .min(PRIORITY_MIN)
  .max(PRIORITY_MAX)
  .meta({ examples: [5] })

export const name = z
  .string()
  .min(1)
  .max(NAME_LENGTH_MAX)
  .meta({ examples: ['nightly story'] })

export const key = z.string().min(1).max(KEY_LENGTH_MAX)

export const tags = z
  .array(z.string().min(1).max(TAG_LENGTH_MAX))
  .max(TAGS_MAX)
  .meta({ examples: [['nightly']] })

/** Null: it may take as long as it likes. */
export const timeoutMs = z
  .int()
  .min(1)
  .max(TIMEOUT_MAX_MS)
  .nullable()
  .meta({ examples: [300_000] })

/** Whatever the request's JSON said. It is not looked into here: the type's own schema does that. */
export const json = z.unknown().meta({ examples: [{ genre: 'gothic' }] })

export const jsonOut = z.unknown()

/** True: the caller may not see all of it. What is missing is null, texts are `[redacted]`. */
export const redactable = { redacted: z.literal(true).optional() }

const delayMs = z.int().min(0).max(DELAY_MAX_MS)

const backoff = z
  .discriminatedUnion(
    'kind',
    [
      z.strictObject({ kind: z.literal('none') }),
      z.strictObject({ kind: z.literal('fixed'), delay_ms: delayMs }),
      z.strictObject({
        kind: z.literal('exponential'),
        base_ms: delayMs,
        factor: z.number().min(1).max(100).optional(),
        max_ms: delayMs.optional(),
        jitter: z.number().min(0).max(1).optional(),
      }),
    ],
    { error: "Expected an object with the `kind` 'none', 'fixed' or 'exponential'." },
  )
  .meta({ examples: [{ kind: 'exponential', base_ms: 10_000 }] })

const retries = z.int().min(0).max(RETRIES_MAX)

/** `max_attempts` is the older name of `max_retries`. */
export const retryPolicy = z
  .strictObject({
    max_retries: retries.optional(),
    max_attempts: retries.optional(),
    max_crash_retries: retries.optional(),
    backoff: backoff.optional(),
  })
  .refine((policy) => policy.max_retries === undefined || policy.max_attempts === undefined, {
    path: ['max_attempts'],
    error: 'Expected `max_retries` or its alias `max_attempts`, got both.',
  })
  .meta({ id: 'RetryPolicyGiven', examples: [{ max_retries: 3, backoff: { kind: 'exponential', base_ms: 10_000 } }] })

const backoffOut = z.object({
  kind: z.enum(['none', 'fixed', 'exponential']),
  delay_ms: z.int().optional(),
  base_ms: z.int().optional(),
  factor: z.number().optional(),
  max_ms: z.int().optional(),
  jitter: z.number().optional(),
})

export const retryPolicyOut = z
  .object({ max_retries: z.int(), max_crash_retries: z.int(), backoff: backoffOut })
  .meta({ id: 'RetryPolicy' })

/** What is absent is as the type says. */
export const retryOverridesOut = retryPolicyOut.partial().meta({ id: 'RetryOverrides' })

/** Query parameters are texts; what stands for a number must be one as a whole. */
export function wholeInQuery(min: number, max: number) {
  const error = `Expected a whole number from ${min} to ${max}.`
  return z
    .string()
    .regex(/^\d{1,16}$/, { error })
    .transform(Number)
    .pipe(z.int().min(min, { error }).max(max, { error }))
    .meta({ type: 'integer', minimum: min, maximum: max })
}

export const booleanInQuery = z
  .enum(['true', 'false'])
  .transform((word) => word === 'true')
  .meta({ type: 'boolean' })

const PAGE_LIMIT_MAX = 200

/** Every list takes these. */
export const pageQuery = {
  limit: wholeInQuery(1, PAGE_LIMIT_MAX).optional(),
  cursor: z.string().min(1).max(512).optional(),
}

/** What every list answers. A page may be short, even empty, though more follows: `next_cursor` alone tells. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), next_cursor: z.string().nullable() })
}

/** A change that names nothing is a mistake: a misspelt field, or a variable that is not set. */
export function changes(body: Readonly<Record<string, unknown>>): boolean {
  return Object.values(body).some((value) => value !== undefined)
}

export const NOTHING_CHANGES = { error: 'Expected something to change, got no field.' }

/** What a refinement says, for the OpenAPI document: so many fields at least. */
export const SOMETHING = { minProperties: 1 }

/** Exactly one of these fields. */
export function oneOf(...names: readonly string[]) {
  return { oneOf: names.map((name) => ({ required: [name] })) }
}

/** At most one of these fields. */
export function notBoth(...names: readonly [string, string]) {
  return { not: { required: names } }
}
