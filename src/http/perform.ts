import { z } from 'zod'
import { PawlError } from '../domain/errors.ts'
import { mayActAs } from '../domain/role.ts'
import { capText } from '../domain/run.ts'
import type { Door } from '../library/door.ts'
import { auditedContext } from '../operations/audit.ts'
import type { OperationContext } from '../operations/context.ts'
import { askedOf } from './asked-of.ts'
import type { Endpoint } from './contract/endpoint.ts'
import { describeFault } from './fault-words.ts'
import type { Actor, Call, Route } from './handlers/handler.ts'
import { PATH_LENGTH_MAX, type Problem, problem, problemOf, RefusedAnswer } from './problems.ts'
import { REDACTED, redact } from './redact.ts'
import { readIfMatch, refuseUselessKey } from './request-headers.ts'
import type { SessionDoor } from './session-door.ts'

/** A request as it came, before anything of it is believed. */
export interface RawRequest {
  readonly params: Readonly<Record<string, string>>
  readonly query: unknown
  readonly body: unknown
  readonly idempotencyKey: string | null
  readonly ifMatch: string | null
  readonly signal: AbortSignal
  /** Null: it came through no server. */
  readonly session: SessionDoor | null
}

export interface Answer {
  readonly status: number
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
}

const NO_HEADERS = {}

/**
 * Answers one request: authorises, validates, calls the operation, renders. The HTTP server and the CLI on a store both
 * come through here, so that both say the same.
 */
export async function perform(route: Route, door: Door, actor: Actor, raw: RawRequest): Promise<Answer> {
  const { endpoint } = route
  try {
    if (!mayActAs(actor.role, endpoint.role)) throw tooLittle(endpoint, actor)
    refuseUselessKey(endpoint, raw.idempotencyKey)
    const versions = readIfMatch(endpoint, raw.ifMatch)
    const parts = read(endpoint, raw)
    const handle = (ifMatch: string | null) =>
      route.handle(
        new PerformedCall(parts, contextFor(endpoint, door, actor, raw, parts.body), door, actor, ifMatch, raw),
      )
    const answer = await (versions === null ? handle(null) : handleAny(versions, handle))
    const body = actor.isRedacted === true ? redact(answer.body) : answer.body
    return { status: answer.status, body, headers: answer.headers ?? NO_HEADERS }
  } catch (error) {
    if (error instanceof RefusedAnswer) return { ...refusal(error.problem), headers: error.headers }
    if (error instanceof InvalidRequest) return refusal(invalidValue(error.issues))
    const told = tell(error, endpoint, door, raw)
    return refusal(actor.isRedacted === true && told.code === 'direct_failed' ? { ...told, detail: REDACTED } : told)
  }
}

/** Of several versions at most one is there. The store compares, and what is stale changes nothing, so each is tried. */
async function handleAny<T>(versions: readonly string[], handle: (version: string) => Promise<T>): Promise<T> {
  let refused: unknown = new PawlError(
    'precondition_failed',
    'A weak `ETag` never matches. Send it as it was answered.',
  )
  for (const version of versions) {
    try {
      return await handle(version)
    } catch (error) {
      if (!isOtherVersion(error)) throw error
      refused = error
    }
  }
  throw refused
}

function isOtherVersion(error: unknown): boolean {
  return error instanceof PawlError && (error.code === 'conflict' || error.code === 'precondition_failed')
}

export function refusal(told: Problem): Answer {
  return { status: told.status, body: told, headers: NO_HEADERS }
}

/** What changes something leaves a note of who asked, in the transaction of the change. */
function contextFor(endpoint: Endpoint, door: Door, actor: Actor, raw: RawRequest, body: unknown): OperationContext {
  if (endpoint.action === null) return door.context
  return auditedContext(door.context, askedOf(endpoint, actor, raw.params, body))
}

/** A class, because an object with a getter of its own costs more than all the rest of a request. */
class PerformedCall implements Call<Endpoint> {
  readonly params: undefined
  readonly query: undefined
  readonly body: undefined
  readonly context: OperationContext
  readonly door: Door
  readonly actor: Actor
  readonly idempotencyKey: string | null
  readonly ifMatch: string | null
  readonly #raw: RawRequest

  constructor(
    parts: Parts,
    context: OperationContext,
    door: Door,
    actor: Actor,
    ifMatch: string | null,
    raw: RawRequest,
  ) {
    this.params = parts.params
    this.query = parts.query
    this.body = parts.body
    this.context = context
    this.door = door
    this.actor = actor
    this.ifMatch = ifMatch
    this.idempotencyKey = raw.idempotencyKey
    this.#raw = raw
  }

  get session(): SessionDoor | null {
    return this.#raw.session
  }

  /** Asked for only where it is used: a server makes it then. */
  get signal(): AbortSignal {
    return this.#raw.signal
  }
}

interface Parts {
  readonly params: undefined
  readonly query: undefined
  readonly body: undefined
}

/** Handlers are typed by their endpoints; here all of them are one. */
function read(endpoint: Endpoint, raw: RawRequest): Parts {
  const mayBeAbsent = endpoint.body === undefined || endpoint.isBodyOptional === true
  return {
    params: endpoint.params === undefined ? undefined : parse(endpoint.params, raw.params),
    query: isNothing(endpoint.query, raw.query) ? NO_FIELDS : parse(endpoint.query ?? NOTHING, raw.query ?? NO_FIELDS),
    body: parse(endpoint.body ?? NOTHING, raw.body === undefined && mayBeAbsent ? NO_FIELDS : raw.body),
  } as Parts
}

/** Nothing may be given, and nothing is. */
function isNothing(schema: z.ZodType | undefined, value: unknown): boolean {
  if (schema !== undefined) return false
  for (const _ in value as object) return false
  return true
}

const NO_FIELDS = {}
const PARSE_OPTIONS = { error: describeFault }
const NOTHING = z.strictObject({})

function parse(schema: z.ZodType, value: unknown): unknown {
  // What is right needs no words: with them it would take several times as long.
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw new InvalidRequest(schema.safeParse(value, PARSE_OPTIONS).error?.issues ?? result.error.issues)
}

/** Values that the endpoint does not take. */
class InvalidRequest extends Error {
  readonly issues: readonly z.core.$ZodIssue[]

  constructor(issues: readonly z.core.$ZodIssue[]) {
    super('invalid request')
    this.issues = issues
  }
}

/** Of a long list of faults, so many are told. */
const FAULTS_TOLD_MAX = 20

function invalidValue(issues: readonly z.core.$ZodIssue[]): Problem {
  const faults = issues.slice(0, FAULTS_TOLD_MAX).map(faultOf)
  const [first = { path: '', message: 'Invalid value.', at: '' }] = faults
  const { path, message, at } = first
  return {
    ...problem('invalid_option', at === '' ? message : `\`${at}\`: ${message}`),
    ...(path !== '' && { path }),
    errors: withoutRepeats(faults.map((fault) => ({ path: fault.path, message: fault.message }))),
  }
}

/** Two checks of one value may say the same. */
function withoutRepeats<Fault extends { readonly path: string; readonly message: string }>(faults: readonly Fault[]) {
  return [...new Map(faults.map((fault) => [`${fault.path} ${fault.message}`, fault])).values()]
}

/** `at` is where the message begins: of an unknown field, which the message names, the object it stands in. */
function faultOf(issue: z.core.$ZodIssue) {
  const path = pathOf(issue)
  const at = issue.code === 'unrecognized_keys' ? capText(issue.path.map(String).join('.'), PATH_LENGTH_MAX) : path
  return { path, message: issue.message, at }
}

/** An unknown field is named itself, not the object it stands in. */
function pathOf(issue: z.core.$ZodIssue): string {
  const path = issue.path.map(String)
  if (issue.code === 'unrecognized_keys' && issue.keys[0] !== undefined) path.push(issue.keys[0])
  return capText(path.join('.'), PATH_LENGTH_MAX)
}

function tooLittle(endpoint: Endpoint, actor: Actor): PawlError {
  return new PawlError(
    'forbidden',
    `Expected the role \`${endpoint.role}\` or more for ${endpoint.method} ${endpoint.path}, but ${actor.name} is \`${actor.role}\`.`,
  )
}

function tell(error: unknown, endpoint: Endpoint, door: Door, raw: RawRequest): Problem {
  const isStale = raw.ifMatch !== null && error instanceof PawlError && error.code === 'conflict'
  const told = isStale
    ? problem('precondition_failed', error.message)
    : problemOf(error, { ids: Object.values(raw.params), body: endpoint.body })
  if (told.status >= 500 && isOurFault(error)) {
    door.logger.error({ error, route: `${endpoint.method} ${endpoint.path}` }, 'A request failed')
  }
  return told
}

/** What a handler did is told to its caller; what the machine did is told to its operator too. */
function isOurFault(error: unknown): boolean {
  return !(error instanceof PawlError) || !/^(direct_|no_node|closed|shutting_down)/.test(error.code)
}
