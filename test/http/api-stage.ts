import { afterEach, expect } from 'vitest'
import { z } from 'zod'
import { httpTransport } from '../../src/client/http-transport.ts'
import { type Client, clientOver, PawlApiError } from '../../src/client/index.ts'
import type { Transport } from '../../src/client/transport.ts'
import { ROLES, type Role } from '../../src/domain/role.ts'
import { type Endpoint, routeOf } from '../../src/http/contract/endpoint.ts'
import { endpoints } from '../../src/http/contract/index.ts'
import { serveHttp } from '../../src/http/index.ts'
import { ANY_PROBLEM } from '../../src/http/server/openapi-problems.ts'
import { defineJob } from '../../src/library/define-job.ts'
import { openScheduler } from '../../src/library/open-scheduler.ts'
import type { Scheduler } from '../../src/library/scheduler.ts'
import type { SchedulerOptions } from '../../src/library/scheduler-options.ts'
import { createKey } from '../../src/operations/api-keys.ts'
import { DOOR } from '../../src/operations/door.ts'
import { newStore } from '../stores/source-stores.ts'

export const PATIENCE = { timeout: 20_000, interval: 5 }

export const allEndpoints: readonly Endpoint[] = Object.values(endpoints)
const BY_NAME = new Map(allEndpoints.map((endpoint) => [routeOf(endpoint), endpoint]))

const closings: (() => Promise<unknown>)[] = []

/** What an operator would have been told went wrong. A logger that throws would stop nothing, so it is looked at in the end. */
const logged: string[] = []

afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close()
  expect(logged.splice(0)).toEqual([])
})

/** What is done after the test, the latest first. */
export function afterwards(work: () => Promise<unknown>): void {
  closings.push(work)
}

/** A server with real keys, and one client for each role. */
export interface Api {
  readonly scheduler: Scheduler
  readonly url: string
  readonly keys: Readonly<Record<Role, string>>
  readonly admin: Client
  readonly operator: Client
  readonly viewer: Client
  /** Lets the bodies of `slow` end, those that run and those that come. */
  readonly release: () => void
}

const SOON = { maxRetries: 1, backoff: { kind: 'none' } } as const
const IN_AN_HOUR = { maxRetries: 3, backoff: { kind: 'fixed', delayMs: 3_600_000 } } as const

/**
 * `story` completes and logs, `review` completes, `broken` fails twice at once, `flaky` fails and waits an hour for its retry,
 * `slow` waits for `release` or an abort, `picky` skips.
 */
export async function openApi(options: Partial<Omit<SchedulerOptions, 'store'>> = {}): Promise<Api> {
  let release: () => void = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const story = defineJob({
    type: 'story',
    params: z.object({ genre: z.string().default('gothic'), length: z.number().int().optional() }),
    timeoutMs: 60_000,
    run({ params, log, progress }) {
      log.info('begun', { genre: params.genre })
      progress(0.5, 'half')
      log.warn('done')
      return { file: `${params.genre}.md` }
    },
  })
  const review = defineJob({ type: 'review', run: () => 'good' })
  const broken = defineJob({ type: 'broken', retry: SOON, run: () => Promise.reject(new Error('no luck')) })
  const flaky = defineJob({ type: 'flaky', retry: IN_AN_HOUR, run: () => Promise.reject(new Error('not today')) })
  const picky = defineJob({ type: 'picky', run: ({ skip }) => skip('not in the mood') })
  const slow = defineJob({
    type: 'slow',
    retry: { maxRetries: 0 },
    run: ({ signal }) =>
      new Promise<string>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error))
        void released.then(() => resolve('late'))
      }),
  })
  const scheduler = await openScheduler({
    store: newStore(),
    jobs: [story, review, broken, flaky, picky, slow],
    logger: {
      info: () => {},
      warn: () => {},
      error: ({ error }, message) => void logged.push(`${message}: ${String(error)}`),
    },
    ...options,
  })
  afterwards(async () => {
    release()
    await scheduler.close()
  })
  const server = await serveHttp(scheduler, { port: 0, rateLimit: false })
  afterwards(() => server.close())
  const { context } = scheduler[DOOR]
  const keys = {} as Record<Role, string>
  for (const role of ROLES) keys[role] = (await createKey(context, { name: `the ${role}`, role })).key
  const as = (role: Role) => clientOver(checked(httpTransport({ server: server.url, apiKey: keys[role] })))
  return {
    scheduler,
    url: server.url,
    keys,
    admin: as('admin'),
    operator: as('operator'),
    viewer: as('viewer'),
    release: () => release(),
  }
}

/** Every answer that any test gets is as the contract says: its status, each of its fields, its code. */
export function checked(transport: Transport): Transport {
  return {
    description: transport.description,
    events: (options) => transport.events(options),
    async send(request) {
      const answer = await transport.send(request)
      const endpoint = BY_NAME.get(request.route)
      if (endpoint === undefined) throw new Error(`${request.route} is in no contract`)
      if (answer.status >= 400) checkProblem(endpoint, answer)
      else checkAnswer(endpoint, answer)
      return answer
    },
  }
}

type Answered = Awaited<ReturnType<Transport['send']>>

function checkAnswer(endpoint: Endpoint, { status, body, headers }: Answered): void {
  const name = `${routeOf(endpoint)} ${status}`
  expect(Object.keys(endpoint.responses), name).toContain(String(status))
  const schema = endpoint.responses[status as 200] as z.ZodType | null
  if (schema === null) return expect(body, name).toBeNull()
  // A field that the schema does not know would be gone from what it returns.
  expect(schema.parse(body), name).toEqual(body)
  const isPruned = (body as { pruned?: unknown }).pruned === true
  if (status === 201) checkLocation(endpoint, name, headers)
  if (endpoint.isVersioned === true && !isPruned) expect(headers['etag'], name).toMatch(/^"[\w-]+"$/)
}

/** Of these there is no single one that could be read by itself. */
const NOWHERE = ['POST /api/jobs/bulk', 'POST /api/keys']

function checkLocation(endpoint: Endpoint, name: string, headers: Answered['headers']): void {
  if (NOWHERE.includes(routeOf(endpoint))) return expect(headers['location'], name).toBeUndefined()
  expect(headers['location'], name).toMatch(/^\/api\/[a-z-]+\/[0-9a-f-]{36}$/)
}

function checkProblem(endpoint: Endpoint, { status, body, headers }: Answered): void {
  const problem = body as { status: number; code: string; detail: string; type: string; title: string }
  const name = `${routeOf(endpoint)} ${status} ${problem.code}: ${problem.detail}`
  expect(headers['content-type'], name).toMatch(/^application\/problem\+json/)
  expect(problem, name).toMatchObject({ status, type: `urn:pawl:problem:${problem.code}` })
  expect(problem.title, name).toMatch(/^[A-Z]/)
  // What a handler threw is told as it is.
  if (problem.code !== 'direct_failed') expect(problem.detail, name).toMatch(/^[`A-Z\d].{10,}[.…]$/s)
  const known: readonly string[] = [
    ...ANY_PROBLEM,
    'invalid_option',
    'not_found',
    'precondition_failed',
    ...endpoint.problems,
  ]
  expect(known, name).toContain(problem.code)
  expect(JSON.stringify(problem).length, name).toBeLessThan(20_000)
}

/** What the API said when it refused. */
export async function refusalOf(asked: Promise<unknown>): Promise<{ status: number; code: string; path?: string }> {
  try {
    const answer = await asked
    throw new Error(`Expected a refusal, got ${JSON.stringify(answer)}`)
  } catch (error) {
    if (!(error instanceof PawlApiError)) throw error
    const { status, code, path } = error
    return { status, code, ...(path !== undefined && { path }) }
  }
}
