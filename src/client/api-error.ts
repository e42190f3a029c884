/** What the API answered when it refused. `code` is stable; `message` says what was expected, what came, what to do. */
export class PawlApiError extends Error {
  override readonly name = 'PawlApiError'
  /** The HTTP status. 0: no answer came. */
  readonly status: number
  /** One of docs/errors.md; `server_unreachable`: no answer came; `unexpected_answer`: what answered is no Pawl server. */
  readonly code: string
  /** Where in the request the fault lies, such as `params.genre`. */
  readonly path: string | undefined
  /** Everything else the answer said. */
  readonly problem: Readonly<Record<string, unknown>>

  constructor(status: number, problem: Readonly<Record<string, unknown>>, options?: { readonly cause?: unknown }) {
    const { detail, code, path } = problem
    super(typeof detail === 'string' ? detail : `The server answered ${status}.`, options)
    this.status = status
    this.code = typeof code === 'string' ? code : 'unexpected_answer'
    this.path = typeof path === 'string' ? path : undefined
    this.problem = problem
  }
}

/** No answer came: the network, the address, or the server is at fault. */
export function serverUnreachable(server: string, cause: unknown): PawlApiError {
  const detail = `No answer from ${server}: ${reasonOf(cause)}. Check the address, and that the server runs (\`pawl serve\`).`
  return new PawlApiError(0, { code: 'server_unreachable', detail, server }, { cause })
}

/** Something answered, but not as a Pawl server would. */
export function unexpectedAnswer(server: string, status: number, what: string): PawlApiError {
  const detail = `${server} answered ${status} with ${what}. Check that this is the address of a Pawl server.`
  return new PawlApiError(status, { code: 'unexpected_answer', detail, server })
}

/** `fetch` says only that it failed; what happened is in the cause, or in one of several. */
function reasonOf(error: unknown): string {
  let reason = error
  while (reason instanceof Error) {
    const { code } = reason as { readonly code?: unknown }
    if (typeof code === 'string') return WORDS[code] ?? (reason.message === '' ? code : reason.message)
    const [first] = reason instanceof AggregateError ? (reason.errors as unknown[]) : [reason.cause]
    if (first === undefined) return reason.message
    reason = first
  }
  return String(reason)
}

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nobody listens there',
  ECONNRESET: 'the connection was cut',
  ENOTFOUND: 'there is no such host',
  ETIMEDOUT: 'the host does not answer',
  UND_ERR_CONNECT_TIMEOUT: 'the host does not answer',
  UND_ERR_HEADERS_TIMEOUT: 'it did not answer in time',
  UND_ERR_BODY_TIMEOUT: 'it fell silent in the middle of its answer',
  UND_ERR_SOCKET: 'the connection was cut',
}
