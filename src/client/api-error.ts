/** What the API answered when it refused. `code` is stable; `detail` says what was expected, what came, what to do. */
export class PawlApiError extends Error {
  override readonly name = 'PawlApiError'
  readonly status: number
  readonly code: string
  /** Where in the request the fault lies, such as `params.genre`. */
  readonly path: string | undefined
  /** Everything else the answer said. */
  readonly problem: Readonly<Record<string, unknown>>

  constructor(status: number, problem: Readonly<Record<string, unknown>>) {
    const { detail, code, path } = problem
    super(typeof detail === 'string' ? detail : `The server answered ${status}.`)
    this.status = status
    this.code = typeof code === 'string' ? code : 'unknown'
    this.path = typeof path === 'string' ? path : undefined
    this.problem = problem
  }
}
