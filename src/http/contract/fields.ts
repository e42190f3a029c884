import { z } from 'zod'
import { JOB_TYPE_PATTERN, PRIORITY_MAX, PRIORITY_MIN } from '../../domain/job.ts'

/** Any text may stand for an id: one that does not exist is not found, whatever its shape. */
export const id = z.string().min(1).max(512)

export const jobType = z
  .string()
  .regex(JOB_TYPE_PATTERN, 'Expected a type name such as `story`.')
  .meta({
    examples: ['story'],
  })

export const instant = z.iso.datetime({ offset: true }).meta({ examples: ['2026-11-16T08:00:00.000Z'] })

/** How instants leave: always UTC. */
export const instantOut = z.string().meta({ format: 'date-time', examples: ['2026-11-16T08:00:00.000Z'] })

export const priority = z
  .int()
  .min(PRIORITY_MIN)
  .max(PRIORITY_MAX)
  .meta({ examples: [5] })

/** Whatever the request's JSON said. It is not looked into here: the type's own schema does that. */
export const json = z.unknown().meta({ examples: [{ genre: 'gothic' }] })

export const jsonOut = z.unknown()

const backoff = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('none') }),
    z.strictObject({ kind: z.literal('fixed'), delay_ms: z.int().min(0) }),
    z.strictObject({
      kind: z.literal('exponential'),
      base_ms: z.int().min(0),
      factor: z.number().min(1).max(100).optional(),
      max_ms: z.int().min(0).optional(),
      jitter: z.number().min(0).max(1).optional(),
    }),
  ])
  .meta({ examples: [{ kind: 'exponential', base_ms: 10_000 }] })

/** `max_attempts` is the older name of `max_retries`. */
export const retryPolicy = z
  .strictObject({
    max_retries: z.int().min(0).max(1_000).optional(),
    max_attempts: z.int().min(0).max(1_000).optional(),
    max_crash_retries: z.int().min(0).max(1_000).optional(),
    backoff: backoff.optional(),
  })
  .refine((policy) => policy.max_retries === undefined || policy.max_attempts === undefined, {
    path: ['max_attempts'],
    error: 'Expected `max_retries` or its alias `max_attempts`, got both.',
  })
  .meta({ examples: [{ max_retries: 3, backoff: { kind: 'exponential', base_ms: 10_000 } }] })

export const retryPolicyOut = z.object({
  max_retries: z.int(),
  max_crash_retries: z.int(),
  backoff: z.object({
    kind: z.enum(['none', 'fixed', 'exponential']),
    delay_ms: z.int().optional(),
    base_ms: z.int().optional(),
    factor: z.number().optional(),
    max_ms: z.int().optional(),
    jitter: z.number().optional(),
  }),
})

/** Query parameters are texts; what stands for a number must be one as a whole. */
export function wholeInQuery(min: number, max: number) {
  return z
    .string()
    .regex(/^\d{1,16}$/, `Expected a whole number from ${min} to ${max}.`)
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .meta({ type: 'integer', minimum: min, maximum: max })
}

export const PAGE_LIMIT_DEFAULT = 50
export const PAGE_LIMIT_MAX = 200

/** Every list takes these. */
export const pageQuery = {
  limit: wholeInQuery(1, PAGE_LIMIT_MAX).optional(),
  cursor: z.string().max(512).optional(),
}

/** What every list answers. A page may be short, even empty, though more follows: `next_cursor` alone tells. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), next_cursor: z.string().nullable() })
}
