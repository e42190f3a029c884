import type { FastifyReply, FastifyRequest } from 'fastify'
import { problem } from '../problems.ts'
import type { OriginGuard } from './origin-guard.ts'
import type { PathTable } from './path-table.ts'
import { sendNothing, sendProblem } from './send.ts'

/** How long a browser may believe what it was told about an origin. */
const PREFLIGHT_BELIEVED_S = '600'

/** Answers what no route takes: nothing is there, or not by this method, or a browser asks what it may ask. */
export function answerNotFound(paths: PathTable, origins: OriginGuard, request: FastifyRequest, reply: FastifyReply) {
  const { method = '', url = '' } = request.raw
  const methods = paths.methodsAt(url)
  if (methods === null) return sendProblem(reply, problem('not_found', `There is nothing at ${shown(url)}.`))
  const allow = methods.join(', ')
  if (method !== 'OPTIONS') {
    return sendProblem(reply, problem('method_not_allowed', `${shown(url)} takes ${allow}, not ${shown(method)}.`), {
      allow,
    })
  }
  return sendNothing(reply, { allow, ...(origins.isAllowed(request.headers.origin) && preflight(allow)) })
}

function preflight(allow: string): Readonly<Record<string, string>> {
  return {
    'access-control-allow-methods': allow,
    'access-control-allow-headers': 'Authorization, Content-Type, Idempotency-Key, If-Match, Last-Event-ID, X-API-Key',
    'access-control-max-age': PREFLIGHT_BELIEVED_S,
  }
}

/** Without what may be secret in the query. */
function shown(text: string): string {
  return `\`${text.split('?', 1)[0]?.slice(0, 200) ?? ''}\``
}
