import type { Answered, BodyOf, QueryOf, Routes } from '../../../src/client/request.ts'
import { parseExact, unmark } from './exact-json.ts'

/** What the server said instead of doing it, or that it could not be asked. */
export class ApiProblem extends Error {
  readonly status: number
  readonly code: string
  readonly path: string | null

  constructor(status: number, code: string, detail: string, path: string | null) {
    super(detail)
    this.status = status
    this.code = code
    this.path = path
  }

  /** The server was not reached: it may be back any moment. */
  get isUnreachable(): boolean {
    return this.status === 0 || this.status === 503
  }
}

interface Given<Route extends keyof Routes> {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: QueryOf<Route>
  readonly body?: BodyOf<Route>
  readonly signal?: AbortSignal
  readonly ifMatch?: number
}

/** Called when an answer says that nobody is logged in. */
let onUnauthorised: () => void = () => {}
export function whenUnauthorised(listener: () => void): void {
  onUnauthorised = listener
}

/** The address of something of the server, under whatever path it is served. */
export function addressOf(path: string): string {
  return new URL(path.replace(/^\//, ''), document.baseURI).href
}

/** One question to the public API, typed by its own contract. */
export async function ask<Route extends keyof Routes>(
  route: Route,
  given: Given<Route> = {},
): Promise<Answered<Route>> {
  const [method, template] = route.split(' ') as [string, string]
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(given.params?.[name] ?? ''))
  const search = searchOf(given.query as Query | undefined)
  return (await send(method, `${path}${search}`, {
    ...(given.body !== undefined && { body: given.body }),
    ...(given.signal && { signal: given.signal }),
    ...(given.ifMatch !== undefined && { ifMatch: given.ifMatch }),
  })) as Answered<Route>
}

interface SendOptions {
  readonly body?: unknown
  readonly signal?: AbortSignal
  readonly ifMatch?: number
  /** An answer 401 is the caller's matter. */
  readonly isLogin?: boolean
}

export async function send(method: string, path: string, options: SendOptions = {}): Promise<unknown> {
  const { body, signal, ifMatch, isLogin = false } = options
  let response: Response
  try {
    response = await fetch(addressOf(path), {
      method,
      credentials: 'same-origin',
      cache: 'no-store',
      headers: {
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(ifMatch !== undefined && { 'if-match': `"${ifMatch}"` }),
      },
      ...(body !== undefined && { body: unmark(JSON.stringify(body)) }),
      ...(signal && { signal }),
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new ApiProblem(0, 'unreachable', 'The server does not answer.', null)
  }
  const text = await response.text()
  if (response.ok) return text === '' ? null : parseExact(text)
  if (response.status === 401 && !isLogin) onUnauthorised()
  throw problemOf(response.status, text)
}

function problemOf(status: number, text: string): ApiProblem {
  try {
    const { code, detail, title, path } = JSON.parse(text) as Record<string, unknown>
    const words = typeof detail === 'string' ? detail : typeof title === 'string' ? title : `HTTP ${status}`
    return new ApiProblem(
      status,
      typeof code === 'string' ? code : 'unknown',
      words,
      typeof path === 'string' ? path : null,
    )
  } catch {
    return new ApiProblem(status, 'unknown', `The server answered with HTTP ${status}.`, null)
  }
}

export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>

function searchOf(query: Query | undefined): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value))
  }
  return search.size === 0 ? '' : `?${search}`
}

/** Any error in words for people. */
export function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
