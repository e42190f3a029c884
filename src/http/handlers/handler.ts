import type { Role } from '../../domain/role.ts'
import type { Door } from '../../library/door.ts'
import type { OperationContext } from '../../operations/context.ts'
import type { AnswerOf, Endpoint, RequestOf } from '../contract/endpoint.ts'
import type { SessionDoor } from '../session-door.ts'

/** Who asks. */
export interface Actor {
  /** For the audit log: `key:<name>`, `cli:<user>` or `anonymous`. */
  readonly name: string
  readonly role: Role
  /** Sees neither params nor results, errors or logs. @default false */
  readonly isRedacted?: boolean
}

/** One request, validated and authorised. */
export interface Call<Definition extends Endpoint> extends RequestOf<Definition> {
  /** What the operation works on. Where the endpoint changes something, its store leaves a note of who asked. */
  readonly context: OperationContext
  readonly door: Door
  readonly actor: Actor
  readonly idempotencyKey: string | null
  /** The version that the caller believes to change; null: whichever. */
  readonly ifMatch: string | null
  /** Fires when the caller is gone. */
  readonly signal: AbortSignal
  /** Null: it came through no server. */
  readonly session: SessionDoor | null
}

export type Handler<Definition extends Endpoint> = (call: Call<Definition>) => Promise<AnswerOf<Definition>>

/** An endpoint with what answers it. */
export interface Route {
  readonly endpoint: Endpoint
  readonly handle: Handler<Endpoint>
}

export function route<Definition extends Endpoint>(endpoint: Definition, handle: Handler<Definition>): Route {
  return { endpoint, handle: handle as unknown as Handler<Endpoint> }
}
