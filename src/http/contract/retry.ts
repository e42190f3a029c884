import { z } from 'zod'
import { priority } from './fields.ts'

export const retryBody = z
  .strictObject({ priority: priority.optional(), dependents: z.boolean().optional() })
  .meta({ examples: [{ dependents: true }] })

export const RETRY_PROBLEMS = ['not_last_attempt', 'not_retryable', 'business_key_taken'] as const
