import { type Clock, systemClock } from '../platform/clock.ts'
import { PawlApiError, serverUnreachable, unexpectedAnswer } from './api-error.ts'
import { EventSourceParser } from './event-source.ts'
import { problemIn } from './request.ts'
import type { StreamedEvent, StreamOptions, Transport, TransportAnswer, TransportRequest } from './transport.ts'

export interface HttpTransportOptions {
  /** Where the server is, such as `http://127.0.0.1:4747`. */
  readonly server: string
  /** A key made by `pawl keys create`, where the server asks for one. */
  readonly apiKey?: string
  /** @default the global `fetch` */
  readonly fetch?: typeof fetch
  /** @default the system's clock */
  readonly clock?: Clock
}

/** The largest answer that is read, in bytes: a list of 10,000 Jobs with their params fits. */
const ANSWER_BYTES_MAX = 256 * 1_048_576

/** The server says something every 15 seconds. One that is silent for so long is gone, though the connection stands. */
const SILENT_MAX_MS = 45_000

/** The way over HTTP. */
export function httpTransport(options: HttpTransportOptions): Transport {
  const base = readServer(options.server)
  const { fetch: ask = globalThis.fetch, clock = systemClock } = options
  const authorization = readApiKey(options.apiKey)
  const server = base.href.replace(/\/$/, '')

  async function send(request: TransportRequest): Promise<TransportAnswer> {
    const { route, params, query, body, headers, signal } = request
    const [method = '', path = ''] = route.split(' ')
    const hasBody = body !== undefined
    const response = await reach({
      url: urlOf(server, path, params, query),
      method,
      headers: { accept: 'application/json', ...authorization, ...(hasBody && JSON_BODY), ...headers },
      ...(hasBody && { body: JSON.stringify(body) }),
      ...(signal !== undefined && { signal }),
    })
    return {
      status: response.status,
      body: await readJson(response, signal),
      headers: Object.fromEntries(response.headers),
    }
  }

  async function reach({ url, ...init }: RequestInit & { readonly url: string }): Promise<Response> {
    const response = await ask(url, { ...init, redirect: 'manual' }).catch((error: unknown) => {
      throw init.signal?.aborted === true ? error : serverUnreachable(server, error)
    })
    // The key goes to the server that was named, and to no other.
    if (response.status < 300 || response.status >= 400) return response
    await response.body?.cancel()
    throw unexpectedAnswer(server, response.status, 'a redirection')
  }

  async function readJson(response: Response, signal: AbortSignal | undefined): Promise<unknown> {
    try {
      const text = await readText(response)
      if (text === '') return null
      if (/^application\/(problem\+)?json\b/.test(response.headers.get('content-type') ?? '')) return JSON.parse(text)
    } catch (error) {
      if (signal?.aborted === true) throw error
      if (!(error instanceof SyntaxError || error instanceof RangeError)) throw serverUnreachable(server, error)
    }
    throw unexpectedAnswer(server, response.status, 'something that is not JSON of a bearable size')
  }

  async function* events({ after, signal, reached }: StreamOptions): AsyncGenerator<StreamedEvent, void, undefined> {
    const connection = new AbortController()
    const leave = () => connection.abort(signal.reason)
    signal.addEventListener('abort', leave, { once: true })
    if (signal.aborted) leave()
    try {
      yield* stream(after, connection, reached)
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      signal.removeEventListener('abort', leave)
      connection.abort()
    }
  }

  async function* stream(
    after: string | null,
    connection: AbortController,
    reached: StreamOptions['reached'],
  ): AsyncGenerator<StreamedEvent, void, undefined> {
    const response = await reach({
      url: urlOf(server, '/api/events', {}, {}),
      method: 'GET',
      headers: { accept: 'text/event-stream', ...authorization, ...(after !== null && { 'last-event-id': after }) },
      signal: connection.signal,
    })
    if (response.status >= 400) throw new PawlApiError(response.status, problemIn(await readJson(response, undefined)))
    if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream') || response.body === null) {
      await response.body?.cancel()
      throw unexpectedAnswer(server, response.status, 'something that is no stream of events')
    }
    const parser = new EventSourceParser()
    const decoder = new TextDecoder()
    let isSilent = false
    const listen = () =>
      clock.after(SILENT_MAX_MS, () => {
        isSilent = true
        connection.abort()
      })
    let timer = listen()
    try {
      for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
        timer.cancel()
        timer = listen()
        const parsed = parser.push(decoder.decode(bytes, { stream: true }))
        for (const event of parsed.events) {
          reached?.(event.id)
          yield event
        }
        if (parsed.id !== null) reached?.(parsed.id)
      }
    } catch (error) {
      throw serverUnreachable(server, isSilent ? new Error('it fell silent') : error)
    } finally {
      timer.cancel()
    }
  }

  return { description: server, send, events }
}

const JSON_BODY = { 'content-type': 'application/json' }

function readServer(server: string): URL {
  if (typeof server === 'string' && URL.canParse(server)) {
    const url = new URL(server)
    const isPlain = url.username === '' && url.password === '' && url.search === '' && url.hash === ''
    if (/^https?:$/.test(url.protocol) && isPlain) return url
  }
  throw new TypeError(
    `Expected \`server\` to be an http or https URL without user, query or fragment, such as \`http://127.0.0.1:4747\`, got \`${server}\`.`,
  )
}

function readApiKey(apiKey: string | undefined): Readonly<Record<string, string>> {
  if (apiKey === undefined) return {}
  if (/^[\x21-\x7e]+$/.test(apiKey)) return { authorization: `Bearer ${apiKey}` }
  // What came may be nearly a key, so it is not shown.
  throw new TypeError('Expected `apiKey` to be a key as `pawl keys create` shows it, without spaces.')
}

function urlOf(
  server: string,
  path: string,
  params: Readonly<Record<string, string>>,
  query: Readonly<Record<string, string>>,
): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => inPath(params[name] ?? ''))
  const asked = new URLSearchParams(query).toString()
  return `${server}${filled}${asked === '' ? '' : `?${asked}`}`
}

/** A dot or two mean a folder in every spelling. Nothing has such an id, so another one that nothing has will do. */
function inPath(id: string): string {
  if (id === '') throw new TypeError('Expected an id that is not empty.')
  return encodeURIComponent(/^\.{1,2}$/.test(id) ? encodeURIComponent(`"${id}"`) : id)
}

async function readText(response: Response): Promise<string> {
  if (response.body === null) return ''
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.length
    if (bytes > ANSWER_BYTES_MAX) throw new RangeError(`an answer of more than ${ANSWER_BYTES_MAX} bytes`)
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}
