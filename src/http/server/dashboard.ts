import { createHash } from 'node:crypto'
import { readFile, realpath, stat } from 'node:fs/promises'
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { extname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyReply } from 'fastify'
import { problem } from '../problems.ts'
import { sendBytes, sendProblem } from './send.ts'

/** Where the build puts it, seen from `src/` and from `dist/` alike. */
export const DASHBOARD_FOLDER = fileURLToPath(new URL('../../../dist/dashboard', import.meta.url))

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json; charset=utf-8',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
}

/** The page loads what this server has, and nothing else. No script or style stands in it: what a Job says cannot become one. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

const PAGE_HEADERS = {
  'content-security-policy': PAGE_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
}

/** The build names what is in here by its content, so it never changes. */
const HASHED = /^assets\//
const FOREVER = 'public, max-age=31536000, immutable'

/** What the API keeps for itself. */
const OF_THE_API = /^\/api(\/|$)/

/** No file of a page is larger. */
const FILE_BYTES_MAX = 16 * 1_048_576

const NOT_BUILT = `The dashboard is not there: it has not been built.

In a checkout of the source, \`npm run build\` makes it. The package that is published has it.
The API is at /api/…, and /openapi.json describes it. \`pawl serve --no-dashboard\` serves nothing else.
`

/** Serves the files of the page that people look at. It needs nothing but the API, as everybody else. */
export class Dashboard {
  readonly #folder: string
  readonly #base: string

  /** @param basePath such as `/pawl`, or nothing */
  constructor(folder: string, basePath: string) {
    this.#folder = folder
    this.#base = `${basePath}/`
  }

  /** Whether a request that no route takes is one for the page. */
  serves({ method, url = '' }: IncomingMessage): boolean {
    return (method === 'GET' || method === 'HEAD') && !OF_THE_API.test(url.split('?', 1)[0] as string)
  }

  async answer(request: IncomingMessage, reply: FastifyReply): Promise<FastifyReply> {
    const name = nameIn(request.url ?? '')
    if (name === null) return sendProblem(reply, problem('not_found', 'There is no such file.'))
    const isRoute = name === '' || !isFile(name)
    const found = isRoute || name === 'index.html' ? await this.#readPage() : await this.#readInside(name)
    if (found === null) return isRoute ? sendNotBuilt(reply) : sendProblem(reply, noFile(name))
    return sendFile(request.headers, reply, isRoute ? 'index.html' : name, found)
  }

  /** Routes of the page are made by itself: whichever is asked for, it is this. It is told where it stands. */
  async #readPage(): Promise<Buffer | null> {
    const bytes = await this.#readInside('index.html')
    if (bytes === null) return null
    return Buffer.from(bytes.toString('utf8').replace(/<head[^>]*>/i, (head) => `${head}<base href="${this.#base}">`))
  }

  /** Null: no such file. What a link leads to outside of the folder is none. */
  async #readInside(name: string): Promise<Buffer | null> {
    try {
      const [folder, file] = await Promise.all([realpath(this.#folder), realpath(join(this.#folder, name))])
      if (!file.startsWith(folder + sep)) return null
      const { size } = await stat(file)
      return size > FILE_BYTES_MAX ? null : await readFile(file)
    } catch {
      return null
    }
  }
}

/** A link on a page of somebody else may lead to ours. What it shows, it asks for by itself. */
export function isNavigation(headers: IncomingHttpHeaders): boolean {
  return headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'
}

/** The build puts files into `assets/` and beside the page. Deeper, a dot is a part of an id in a route: `/jobs/a.b`. */
function isFile(name: string): boolean {
  return name.includes('.') && (!name.includes('/') || HASHED.test(name))
}

/** Only plain names: nothing hidden, nothing above, nothing escaped twice. */
const NAME = /^([A-Za-z0-9_~@+-][A-Za-z0-9._~@+-]*\/)*([A-Za-z0-9_~@+-][A-Za-z0-9._~@+-]*)?$/

/** The file that is asked for; nothing: the page itself. Null: none that there could be. */
function nameIn(url: string): string | null {
  const [path = ''] = url.split('?', 1)
  const name = path.replace(/^\/+/, '')
  if (NAME.test(name)) return name.replace(/\/$/, '')
  // An id in a route of the page may be anything but a way out of it. Nothing is opened by it.
  return isFile(name) || /\.\.|\\|%2e|%5c/i.test(name) ? null : ''
}

function sendFile(headers: IncomingHttpHeaders, reply: FastifyReply, name: string, bytes: Buffer): FastifyReply {
  const type = TYPES[extname(name)]
  if (type === undefined) return sendProblem(reply, noFile(name))
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
  const known = { ...PAGE_HEADERS, 'cache-control': HASHED.test(name) ? FOREVER : 'no-cache', etag }
  const isKnown = (headers['if-none-match'] ?? '').includes(etag)
  if (isKnown) return sendBytes(reply, { status: 304, headers: known })
  return sendBytes(reply, { status: 200, headers: { ...known, 'content-type': type }, bytes })
}

function sendNotBuilt(reply: FastifyReply): FastifyReply {
  const headers = { 'content-type': 'text/plain; charset=utf-8' }
  return sendBytes(reply, { status: 404, headers, bytes: Buffer.from(NOT_BUILT) })
}

function noFile(name: string) {
  return problem('not_found', `The dashboard has no file \`${name.slice(0, 200)}\`.`)
}
