import type { z } from 'zod'
import type { ErrorCode } from '../../domain/errors.ts'
import type { Role } from '../../domain/role.ts'

/**
 * One thing that the API can be asked. The same definition validates requests, types the handlers and the client, and
 * becomes its part of the OpenAPI document.
 */
export interface Endpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Such as `/api/jobs/{job_id}`. */
  readonly path: `/${string}`
  /** What the caller must at least be. */
  readonly role: Role
  /** Whoever is not known may ask it too. @default false */
  readonly isOpen?: boolean
  /** What the audit log calls it, such as `job.cancel`. Null: it changes nothing. */
  readonly action: string | null
  /** Fields of the body that the audit log keeps with it. No secrets, and nothing large. */
  readonly auditedFields?: readonly string[]
  /** Under which heading the OpenAPI document lists it. */
  readonly tag: string
  readonly summary: string
  readonly params?: z.ZodObject
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  /** A request without a body means `{}`. @default false */
  readonly isBodyOptional?: boolean
  /** @default BODY_MAX_BYTES */
  readonly bodyMaxBytes?: number
  /** What it answers when all is well, by status code. Null: nothing. */
  readonly responses: Readonly<Partial<Record<200 | 201 | 202, z.ZodType>>> & { readonly 204?: null }
  /** Codes of problems it may answer with, besides those that every endpoint may. */
  readonly problems: readonly ErrorCode[]
  /** Its answer carries an ETag. */
  readonly isVersioned?: boolean
  /** `If-Match` says of which version it is asked. Others refuse the header, because nothing would come of it. */
  readonly takesIfMatch?: boolean
  /** The header `Idempotency-Key` stands for a field of the body. Others refuse the header. */
  readonly takesIdempotencyKey?: boolean
}

/** For the OpenAPI document too. */
export function takesIfMatch({ takesIfMatch: takes = false }: Endpoint): boolean {
  return takes
}

export function takesIdempotencyKey({ takesIdempotencyKey: takes = false }: Endpoint): boolean {
  return takes
}

export const BODY_MAX_BYTES = 1_048_576
export const BULK_BODY_MAX_BYTES = 32 * 1_048_576

export function endpoint<const Definition extends Endpoint>(definition: Definition): Definition {
  return definition
}

/** `POST /api/jobs`: by this the client, the handlers and the tests name an endpoint. */
export type RouteOf<Definition extends Endpoint> = `${Definition['method']} ${Definition['path']}`

export function routeOf(definition: Endpoint): string {
  return `${definition.method} ${definition.path}`
}

type OutputOf<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined
type GivenFor<Schema> = Schema extends z.ZodType ? z.input<Schema> : undefined

/** What a handler gets: validated, with defaults filled in. */
export interface RequestOf<Definition extends Endpoint> {
  readonly params: OutputOf<Definition['params']>
  readonly query: OutputOf<Definition['query']>
  readonly body: OutputOf<Definition['body']>
}

/** What a caller gives: what has a default may be left out. */
export interface GivenOf<Definition extends Endpoint> {
  readonly params: GivenFor<Definition['params']>
  readonly query: GivenInQuery<Definition['query']>
  readonly body: GivenFor<Definition['body']>
}

/** A number may be given as a number or as the text that will stand in the URL. */
type GivenInQuery<Schema> = Schema extends z.ZodType
  ? {
      readonly [Name in keyof z.input<Schema>]: z.input<Schema>[Name] | z.output<Schema>[Name & keyof z.output<Schema>]
    }
  : undefined

/** What a handler answers: a body for one of the endpoint's statuses. */
export type AnswerOf<Definition extends Endpoint> = {
  readonly [Status in keyof Definition['responses']]-?: {
    readonly status: Status
    readonly body: BodyFor<Definition['responses'][Status]>
    readonly headers?: Readonly<Record<string, string>>
  }
}[keyof Definition['responses']]

/** The body of whichever status the answer has. */
export type ResultOf<Definition extends Endpoint> = BodyFor<Definition['responses'][keyof Definition['responses']]>

type BodyFor<Schema> = Schema extends z.ZodType ? z.output<Schema> : null
