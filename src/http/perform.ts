import type { z } from 'zod'
import { PawlError } from '../domain/errors.ts'
import { mayActAs } from '../domain/role.ts'
import type { Door } from '../library/door.ts'
import type { Endpoint } from './contract/endpoint.ts'
import type { Actor, Route } from './handlers/handler.ts'
import { type Problem, problem, problemOf } from './problems.ts'

/** A request as it came, before anything of it is believed. */
export interface RawRequest {
  readonly params: Readonly<Record<string, string>>
  readonly query: unknown
  readonly body: unknown
  readonly idempotencyKey: string | null
  readonly ifMatch: string | null
  readonly signal: AbortSignal
}

export interface Answer {
  readonly status: number
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Answers one request: authorises, validates, calls the operation, renders. The HTTP server and the CLI on a store both
 * come through here, so that both say the same.
 */
export async function perform(route: Route, door: Door, actor: Actor, raw: RawRequest): Promise<Answer> {
  const { endpoint } = route
  if (!mayActAs(actor.role, endpoint.role)) return refusal(tooLittle(endpoint, actor))
  const request = read(endpoint, raw)
  if (request.kind === 'invalid') return refusal(request.problem)
  const ids = Object.values(raw.params)
  try {
    const answer = await route.handle({
      ...(request.parts as { params: undefined; query: undefined; body: undefined }),
      context: contextFor(endpoint, door, actor, ids),
      door,
      actor,
      idempotencyKey: raw.idempotencyKey,
      ifMatch: raw.ifMatch,
      signal: raw.signal,
    })
    return { status: answer.status, body: answer.body, headers: answer.headers ?? {} }
  } catch (error) {
    const told = problemOf(error, ids)
    if (told.status >= 500) logFailure(door, endpoint, error)
    return refusal(told)
  }
}

export function refusal(told: Problem): Answer {
  return { status: told.status, body: told, headers: {} }
}

/** What changes something leaves a note of who asked, in the transaction of the change. */
function contextFor(_endpoint: Endpoint, door: Door, _actor: Actor, _ids: readonly string[]) {
  return door.context
}

type Parts = { readonly params: unknown; readonly query: unknown; readonly body: unknown }

function read(
  endpoint: Endpoint,
  raw: RawRequest,
): { kind: 'valid'; parts: Parts } | { kind: 'invalid'; problem: Problem } {
  const body = raw.body === undefined && endpoint.isBodyOptional === true ? {} : raw.body
  const parts: { params: unknown; query: unknown; body: unknown } = {
    params: undefined,
    query: undefined,
    body: undefined,
  }
  for (const [part, schema, value] of [
    ['params', endpoint.params, raw.params],
    ['query', endpoint.query, raw.query],
    ['body', endpoint.body, body],
  ] as const) {
    if (schema === undefined) continue
    const result = schema.safeParse(value)
    if (!result.success) return { kind: 'invalid', problem: invalidValue(result.error.issues) }
    parts[part] = result.data
  }
  return { kind: 'valid', parts }
}

/** Of a long list of faults, so many are told. */
const FAULTS_TOLD_MAX = 20

function invalidValue(issues: readonly z.core.$ZodIssue[]): Problem {
  const errors = issues.slice(0, FAULTS_TOLD_MAX).map((issue) => ({ path: pathOf(issue), message: issue.message }))
  const [first] = errors
  return {
    ...problem('invalid_option', first === undefined ? 'Invalid value.' : `\`${first.path}\`: ${first.message}`),
    ...(first !== undefined && { path: first.path, errors }),
  }
}

/** An unknown field is named itself, not the object it stands in. */
function pathOf(issue: z.core.$ZodIssue): string {
  const path = issue.path.map(String)
  if (issue.code === 'unrecognized_keys' && issue.keys[0] !== undefined) path.push(issue.keys[0])
  return path.join('.')
}

function tooLittle(endpoint: Endpoint, actor: Actor): Problem {
  return problem(
    'forbidden',
    `Expected the role \`${endpoint.role}\` or more for ${endpoint.method} ${endpoint.path}, but ${actor.name} is \`${actor.role}\`.`,
  )
}

function logFailure(door: Door, endpoint: Endpoint, error: unknown): void {
  if (error instanceof PawlError && error.code.startsWith('direct_')) return
  door.logger.error({ error, route: `${endpoint.method} ${endpoint.path}` }, 'A request failed')
}
