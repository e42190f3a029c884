import { mkdtempSync, rmSync } from 'node:fs'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import type { Role } from '../../src/domain/role.ts'
import { type HttpOptions, type HttpServer, serveHttp } from '../../src/http/index.ts'
import { defineJob } from '../../src/library/define-job.ts'
import { openScheduler } from '../../src/library/open-scheduler.ts'
import type { Scheduler } from '../../src/library/scheduler.ts'
import type { SchedulerOptions } from '../../src/library/scheduler-options.ts'
import { createKey } from '../../src/operations/api-keys.ts'
import { DOOR } from '../../src/operations/door.ts'
import type { Logger } from '../../src/platform/logger.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { newStore, storeKind } from '../stores/source-stores.ts'

export const PATIENCE = { timeout: 20_000, interval: 5 }

const closings: (() => unknown)[] = []

/** What is done after the test, the latest first. */
export function afterwards(work: () => unknown): void {
  closings.push(work)
}

afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close()
})

/** A folder of its own, which is removed after the test. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-http-'))
  afterwards(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export const noop = defineJob({ type: 'noop', run: () => null })

export interface Stage {
  readonly scheduler: Scheduler
  readonly server: HttpServer
  readonly port: number
  /** What an operator would have been told, warnings and errors. */
  readonly told: string[]
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  ask(method: string, path: string, options?: Asked): Promise<Answer>
  newKey(role: Role, options?: { expiresInMs?: number }): Promise<{ key: string; keyId: string }>
}

export interface StageOptions extends HttpOptions {
  readonly file?: string
  readonly scheduler?: Partial<Omit<SchedulerOptions, 'store'>>
}

/** A scheduler that serves HTTP on a free port, and people who ask it. Not started: Jobs stay where they are. */
export async function openStage({ file, scheduler: rest = {}, ...options }: StageOptions = {}): Promise<Stage> {
  const told: string[] = []
  const tell = (fields: Readonly<Record<string, unknown>>, message: string) =>
    void told.push(`${message} ${fields['error'] instanceof Error ? fields['error'].message : ''}`.trim())
  const logger: Logger = { info: () => {}, warn: tell, error: tell }
  const scheduler = await openScheduler({
    store: storeKind === 'postgres' ? newStore() : sqlite(file ?? join(newFolder(), 'pawl.db')),
    jobs: [noop],
    logger,
    ...rest,
  })
  afterwards(() => scheduler.close())
  const server = await serveHttp(scheduler, { port: 0, ...options })
  afterwards(() => server.close())
  const { port } = server
  const asked = (method: string, path: string, given: Asked = {}) => ask(port, method, path, given)
  return {
    scheduler,
    server,
    port,
    told,
    ask: asked,
    get: (path, headers = {}) => asked('GET', path, { headers }),
    post: (path, body, headers = {}) => asked('POST', path, { body, headers }),
    newKey: async (role, keyOptions = {}) => {
      const { context } = scheduler[DOOR]
      const { key, apiKey } = await createKey(context, { name: `a ${role}`, role, ...keyOptions })
      return { key, keyId: apiKey.keyId }
    },
  }
}

export interface Asked {
  /** JSON, unless it is text already. */
  readonly body?: unknown
  readonly headers?: Record<string, string>
  /** The address that it comes from. */
  readonly localAddress?: string
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The body as JSON; null where it is none. */
  readonly body: Record<string, unknown>
}

/** One request on a connection of its own. The body is sent as it is, whatever the headers say. */
export function ask(port: number, method: string, path: string, asked: Asked): Promise<Answer> {
  const { body, headers = {}, localAddress } = asked
  const bytes = body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body)
  const type = bytes === null ? {} : { 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: '127.0.0.1', port, method, path, agent: false, localAddress, headers: { ...type, ...headers } },
      (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          text += chunk
        })
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, body: parsed(text) }),
        )
        response.on('error', reject)
      },
    )
    request.on('error', reject)
    request.end(bytes ?? undefined)
  })
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return {}
  }
}

/** Sends bytes as they are, and answers with all that comes back until the other side closes. */
export function sendRaw(port: number, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = openSocket(port)
    let text = ''
    socket.setEncoding('utf8')
    socket.on('data', (chunk: string) => {
      text += chunk
    })
    socket.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNRESET' || error.code === 'EPIPE' ? resolve(text) : reject(error),
    )
    socket.on('close', () => resolve(text))
    socket.write(bytes)
  })
}

export function openSocket(port: number): Socket {
  const socket = connect({ host: '127.0.0.1', port })
  afterwards(() => socket.destroy())
  return socket
}

/** The parts of a problem that programs rely on. */
export function problemOf({ status, headers, body }: Answer): { status: number; type: string; code: unknown } {
  return { status, type: String(headers['content-type']).split(';')[0] as string, code: body['code'] }
}

export function asProblem(status: number, code: string): ReturnType<typeof problemOf> {
  return { status, type: 'application/problem+json', code }
}

/** A handle of an outsider's, with the library that Pawl uses here: two copies of SQLite must not share a file. */
interface Handle {
  exec(sql: string): unknown
  close(): void
}

const library = Number(process.versions.node.split('.')[0]) >= 24 ? 'node:sqlite' : '@photostructure/sqlite'
const { DatabaseSync } = (await import(library)) as { DatabaseSync: new (path: string) => Handle }

/** Changes the database behind Pawl's back. */
export function changeFile(file: string, sql: string): void {
  const handle = new DatabaseSync(file)
  handle.exec(sql)
  handle.close()
}
