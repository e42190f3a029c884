import { PawlError } from '../../domain/errors.ts'
import { mayActAs } from '../../domain/role.ts'
import { wireInstant } from '../../domain/wire.ts'
import { requiresKeys } from '../../operations/api-keys.ts'
import { recordAudit } from '../../operations/audit.ts'
import type { OperationContext } from '../../operations/context.ts'
import * as contract from '../contract/sessions.ts'
import { RefusedAnswer } from '../problems.ts'
import { type Identity, readVersion, type SessionDoor } from '../session-door.ts'
import { ok } from './answer.ts'
import { type Actor, type Route, route } from './handler.ts'

async function wireSession(context: OperationContext, { actor, keyId, expiresAt, isKnown }: Identity) {
  const may = (role: Actor['role']) => isKnown && mayActAs(actor.role, role)
  return {
    authenticated: isKnown,
    keys_required: await requiresKeys(context),
    actor: isKnown ? actor.name : null,
    key_id: keyId,
    role: isKnown ? actor.role : null,
    rights: {
      read: isKnown,
      operate: may('operator'),
      administer: may('admin'),
      see_payloads: isKnown && actor.isRedacted !== true,
    },
    expires_at: wireInstant(expiresAt),
    version: readVersion(),
  }
}

/** Without a server nobody logs in: whoever can open the store may do everything. */
function whoeverOpened(actor: Actor): Identity {
  return { actor, keyId: null, expiresAt: null, isKnown: true }
}

function needsServer(session: SessionDoor | null): SessionDoor {
  if (session !== null) return session
  throw new PawlError('invalid_option', 'Sessions are for browsers that ask a server. On a store nobody logs in.')
}

/** Who logs in or out is in the audit log. Where nobody needs a key, nobody does. */
async function noteSession(context: OperationContext, action: string, { actor, keyId }: Identity): Promise<void> {
  if (keyId !== null) await recordAudit(context, { actor: actor.name, action, subject: keyId })
}

export const sessionRoutes: readonly Route[] = [
  route(contract.getSession, async ({ context, actor, session }) => {
    const body = await wireSession(context, session?.identity ?? whoeverOpened(actor))
    const isRenewed = session?.isByCookie === true && session.identity.isKnown
    return ok(body, isRenewed ? { 'set-cookie': session.cookieOf(session.cookieKey) } : {})
  }),

  route(contract.openSession, async ({ context, door, body, session }) => {
    const server = needsServer(session)
    const found = await server.identify(body.key)
    if (found.kind === 'refused') throw new RefusedAnswer(found.problem, found.headers)
    const { identity } = found
    await noteSession(door.context, contract.openSession.action, identity)
    // A store without keys has nothing to keep one for.
    const headers = identity.keyId === null ? {} : { 'set-cookie': server.cookieOf(body.key) }
    return ok(await wireSession(context, identity), headers)
  }),

  route(contract.closeSession, async ({ door, session }) => {
    const server = needsServer(session)
    if (server.isByCookie) await noteSession(door.context, contract.closeSession.action, server.identity)
    return { status: 204 as const, body: null, headers: { 'set-cookie': server.cookieOf(null) } }
  }),
]
