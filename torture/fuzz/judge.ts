import type { Answer } from './connection.ts'
import type { FuzzRequest, FuzzRequests } from './requests.ts'
import type { Role } from './server.ts'

/** Who asks. `nobody`: without a key, or with one that is none. */
export type Caller = Role | 'nobody'

/** Of the router and the parser; they can come before an operation is found. */
const GENERAL = [400, 404, 405, 413, 415]

/** Anybody may ask these. Browsers ask by OPTIONS what they may ask. */
const OPEN = ['/health', '/ready', '/api/session']

const INSIDE = /\bat .*\.(ts|js):\d|node_modules|sqlite|SQLITE/

/** What is wrong with an answer. Null: nothing. */
export function complaintAbout(
  requests: FuzzRequests,
  request: FuzzRequest,
  caller: Caller,
  { status, type, text }: Answer,
): string | null {
  const isDirect = request.route === '/api/direct/{type}'
  // The handler may fail, there may be no node, and nobody may be free in time.
  if (status >= 500 && !(isDirect && status >= 502 && status <= 504)) return `Answered with ${status}`
  if (status < 200) return `Answered with ${status}`
  const isOpen = OPEN.includes(request.route) || request.method === 'OPTIONS'
  if (caller === 'nobody' && status < 400 && !isOpen) return `Answered with ${status} without a key`
  if (caller === 'viewer' && status < 400 && !isReading(request)) return `A viewer was answered with ${status}`
  if (status >= 400 && request.method !== 'HEAD') {
    const wrong = wrongProblem(status, type, text)
    if (wrong !== null) return wrong
  }
  const isBare = request.method === 'HEAD'
  if (status < 300 && type === 'application/json' && !isBare && !isJson(text)) return 'The answer is no JSON'
  const isGeneral = GENERAL.includes(status) || (caller !== 'admin' && (status === 401 || status === 403))
  return isGeneral || requests.isDocumented(request, status) ? null : `${status} is not among the documented answers`
}

/** A preview changes nothing, though it is asked for by POST. Whoever logs in or out changes only what their browser keeps. */
function isReading({ method, route }: FuzzRequest): boolean {
  return ['GET', 'HEAD', 'OPTIONS'].includes(method) || route.endsWith('/preview') || route === '/api/session'
}

function wrongProblem(status: number, type: string, text: string): string | null {
  if (type !== 'application/problem+json') return `A problem (${status}) came as ${type}`
  if (!isJson(text)) return 'The problem is no JSON'
  const { code, status: told, detail } = JSON.parse(text) as Record<string, unknown>
  if (typeof code !== 'string' || told !== status || typeof detail !== 'string') return 'The problem is not whole'
  return INSIDE.test(text) ? 'The problem tells of the inside' : null
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
