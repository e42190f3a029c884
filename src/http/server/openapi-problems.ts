import type { ErrorCode } from '../../domain/errors.ts'
import { type Endpoint, takesIfMatch } from '../contract/endpoint.ts'
import { STATUS } from '../problems.ts'
import type { JsonSchema } from './json-schemas.ts'

/** What any request may be answered with, besides what its endpoint says. */
export const ANY_PROBLEM: readonly ErrorCode[] = [
  'malformed_request',
  'unauthenticated',
  'forbidden',
  'origin_refused',
  'host_refused',
  'rate_limited',
  'internal_error',
  'closed',
  'database_corrupt',
  'database_unavailable',
  'shutting_down',
  'store_busy',
]

/** What only those may that change something. */
const CHANGING: readonly ErrorCode[] = ['storage_full']

const WITH_BODY: readonly ErrorCode[] = ['body_too_large', 'inexact_number', 'unsupported_media_type']

/** The problems of an endpoint by their status, as responses. */
export function problemResponses(endpoint: Endpoint): Record<string, JsonSchema> {
  const { body, action, problems } = endpoint
  const codes = new Set<ErrorCode>([
    ...ANY_PROBLEM,
    // Also where nothing may be given: what is given all the same is refused.
    'invalid_option',
    ...(body === undefined ? [] : WITH_BODY),
    ...(action === null ? [] : CHANGING),
    ...(takesIfMatch(endpoint) ? (['precondition_failed'] as const) : []),
    ...problems,
  ])
  return responsesOf([...codes], (code) => statusOf(code, endpoint))
}

/** The same for what is no endpoint of the contract. */
export function plainProblemResponses(codes: readonly ErrorCode[]): Record<string, JsonSchema> {
  return responsesOf(codes, (code) => STATUS[code])
}

function responsesOf(codes: readonly ErrorCode[], statusFor: (code: ErrorCode) => number): Record<string, JsonSchema> {
  const statuses = [...groupBy(codes, statusFor)].sort(([a], [b]) => a - b)
  return Object.fromEntries(statuses.map(([status, told]) => [String(status), problemResponse(status, told.sort())]))
}

function groupBy(codes: readonly ErrorCode[], statusFor: (code: ErrorCode) => number): Map<number, ErrorCode[]> {
  const groups = new Map<number, ErrorCode[]>()
  for (const code of codes) groups.set(statusFor(code), [...(groups.get(statusFor(code)) ?? []), code])
  return groups
}

function problemResponse(status: number, codes: readonly ErrorCode[]): JsonSchema {
  const schema = {
    allOf: [{ $ref: '#/components/schemas/Problem' }, { type: 'object', properties: { code: { enum: codes } } }],
  }
  return {
    description: codes.map((code) => `\`${code}\``).join(', '),
    content: { 'application/problem+json': { schema } },
    ...(status === 429 && { headers: { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } } }),
    ...(status === 401 && { headers: { 'WWW-Authenticate': { schema: { type: 'string' } } } }),
  }
}

/** What is missing in the path is 404, what is missing in the body is an invalid value. */
function statusOf(code: ErrorCode, endpoint: Endpoint): number {
  const missing = /^(\w+)_not_found$/.exec(code)?.[1]
  if (code === 'unknown_type') return endpoint.path.includes('{type}') ? 404 : STATUS[code]
  if (missing === undefined || STATUS[code] !== 404) return STATUS[code]
  return endpoint.path.includes(`{${missing}_id}`) ? 404 : 422
}

/** Every problem that the API tells has this shape. */
export const PROBLEM_SCHEMA: JsonSchema = {
  type: 'object',
  description: 'What went wrong (RFC 9457). Programs switch on `code`; people read `detail`.',
  required: ['type', 'title', 'status', 'detail', 'code'],
  properties: {
    type: { type: 'string', examples: ['urn:pawl:problem:job_not_found'] },
    title: { type: 'string', examples: ['Not found'] },
    status: { type: 'integer', examples: [404] },
    detail: { type: 'string', examples: ['There is no job 0197…'] },
    code: { type: 'string', enum: Object.keys(STATUS).sort() },
    path: { type: 'string', description: 'Where in the request the fault lies.', examples: ['params.genre'] },
    errors: {
      type: 'array',
      description: 'All places with a fault, when there are several.',
      items: {
        type: 'object',
        required: ['path', 'message'],
        properties: { path: { type: 'string' }, message: { type: 'string' } },
      },
    },
  },
}
