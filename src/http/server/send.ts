import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import type { Answer } from '../perform.ts'
import { type Problem, problem } from '../problems.ts'

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
const NONE: Headers = {}

export function sendAnswer(reply: FastifyReply, { status, body, headers }: Answer): FastifyReply {
  if (status === 204) return sendNothing(reply, headers)
  return sendText(reply, {
    status,
    text: JSON.stringify(body),
    type: status >= 400 ? PROBLEM_TYPE : JSON_TYPE,
    headers,
  })
}

export function sendProblem(reply: FastifyReply, told: Problem, headers: Headers = NONE): FastifyReply {
  return sendText(reply, { status: told.status, text: JSON.stringify(told), type: PROBLEM_TYPE, headers })
}

/** 204. */
export function sendNothing(reply: FastifyReply, headers: Headers): FastifyReply {
  return write(reply, 204, { ...SAFE_HEADERS, ...headers })
}

/** Who comes through a door that is being closed is told so, not that the store is broken. */
export function toldWhileClosing(told: Problem): Problem {
  if (told.code !== 'closed') return told
  return problem('shutting_down', 'This server is shutting down. Nothing was changed; try again.')
}

export function answeredWhileClosing(answer: Answer): Answer {
  if (answer.status !== 503) return answer
  const told = toldWhileClosing(answer.body as Problem)
  return told === answer.body ? answer : { status: told.status, body: told, headers: { 'retry-after': '1' } }
}

export interface SentText {
  readonly status: number
  readonly text: string
  readonly type: string
  readonly headers?: Headers
}

export function sendText(reply: FastifyReply, { status, text, type, headers = NONE }: SentText): FastifyReply {
  const length = Buffer.byteLength(text)
  const all = { ...SAFE_HEADERS, ...headers, 'content-type': type, 'content-length': length }
  return write(reply, status, all, text)
}

export interface SentBytes {
  readonly status: number
  readonly headers: Headers
  readonly bytes?: Buffer
}

/** What is no JSON. Its headers come before those that every answer has. */
export function sendBytes(reply: FastifyReply, { status, headers, bytes }: SentBytes): FastifyReply {
  const length = bytes === undefined ? {} : { 'content-length': bytes.length }
  return write(reply, status, { ...SAFE_HEADERS, ...headers, ...length }, bytes)
}

/** Past fastify, which would look at each header again. Those that were set on the response before are sent too. */
function write(
  reply: FastifyReply,
  status: number,
  headers: OutgoingHttpHeaders,
  body?: string | Buffer,
): FastifyReply {
  const { raw } = reply.hijack()
  if (!raw.headersSent) raw.writeHead(status, headers).end(body)
  return reply
}
