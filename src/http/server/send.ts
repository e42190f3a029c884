import type { FastifyReply } from 'fastify'
import type { Answer } from '../perform.ts'
import type { Problem } from '../problems.ts'

type Headers = Readonly<Record<string, string>>

/**
 * On every answer. Nothing here is a page: nothing may be loaded, framed, guessed at or kept. What a browser shows of it
 * tells no other site where it was.
 */
export const SAFE_HEADERS: Headers = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'
const JSON_TYPE = 'application/json; charset=utf-8'

export function sendAnswer(reply: FastifyReply, { status, body, headers }: Answer): FastifyReply {
  reply.code(status).headers(headers)
  if (status === 204) return reply.send()
  return sendText(reply, JSON.stringify(body), status >= 400 ? PROBLEM_TYPE : JSON_TYPE)
}

export function sendProblem(reply: FastifyReply, told: Problem, headers: Headers = {}): FastifyReply {
  reply.code(told.status).headers(headers)
  return sendText(reply, JSON.stringify(told), PROBLEM_TYPE)
}

export function sendText(reply: FastifyReply, text: string, type: string): FastifyReply {
  return reply.header('content-type', type).send(text)
}
