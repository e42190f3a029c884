import { Chance } from '../chance.ts'
import { type Answer, Connection } from './connection.ts'
import { type Caller, complaintAbout } from './judge.ts'
import { exchange, rawBytes } from './raw-bytes.ts'
import { type FuzzRequest, FuzzRequests, type OpenApiDocument } from './requests.ts'
import type { FuzzedServer } from './server.ts'
import { SlowCallers } from './slow-callers.ts'
import { FileWatch } from './watch-file.ts'

/** Requests that are under way at once. */
const CALLERS = 16

/** One in so many is raw bytes. */
const RAW_EVERY = 25

/** One in so many is asked of the server that is paused. */
const QUIET_EVERY = 8

/** What the process may take of the machine at most, with all that its heap does not count. */
const MEMORY_MAX_MB = 900

const LOOK_EVERY = 500

/** How often a request is asked again that seems to have written although it was refused. */
const ASKED_AGAIN = 3

/** Nobody has written for so long. */
const STILL_MS = 100
const STILL_WITHIN_MS = 10_000
const TOLD_MAX = 10

export interface Fuzzing {
  readonly seed: number
  /** The number of the next request, or null: it is enough. */
  readonly next: () => number | null
  /** How many have been made in this life. */
  readonly made: () => number
  readonly isOver: () => boolean
  /** All that was seen. */
  readonly counts: Map<string, number>
  readonly violate: (index: number | null, message: string) => void
}

/**
 * Asks a server that executes, many at a time, and one that is paused, one after the other: there it is seen that what was
 * refused has changed nothing.
 */
export async function fuzz(fuzzing: Fuzzing, busy: FuzzedServer, quiet: FuzzedServer): Promise<void> {
  const document = await readDocument(busy)
  const slow = new SlowCallers(busy.port, busy.keys.admin.key)
  const watch = new FileWatch(quiet.file)
  try {
    const callers = Array.from({ length: CALLERS }, () => new FuzzCaller(fuzzing, busy, requestsFor(document, busy)))
    const watcher = new FuzzCaller(fuzzing, quiet, requestsFor(document, quiet), watch)
    await Promise.all([...callers, watcher].map((caller) => caller.callAll()))
    for (const complaint of slow.complaints()) fuzzing.violate(null, complaint)
  } finally {
    slow.end()
    watch.close()
  }
}

async function readDocument({ port, keys }: FuzzedServer): Promise<OpenApiDocument> {
  const connection = new Connection(port)
  const head = `GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: ${keys.admin.key}\r\n\r\n`
  const { text } = await connection.ask(Buffer.from(head), false)
  connection.close()
  return JSON.parse(text) as OpenApiDocument
}

const known = new WeakMap<FuzzedServer, FuzzRequests>()

/** All callers of a server learn together. */
function requestsFor(document: OpenApiDocument, server: FuzzedServer): FuzzRequests {
  const ids = Object.values(server.keys).map(({ key_id }) => key_id)
  const requests = known.get(server) ?? new FuzzRequests(document, ids)
  known.set(server, requests)
  return requests
}

class FuzzCaller {
  readonly #fuzzing: Fuzzing
  readonly #server: FuzzedServer
  readonly #requests: FuzzRequests
  readonly #connection: Connection
  /** Null: others are at work, too, so that it would say nothing. */
  readonly #watch: FileWatch | null

  constructor(fuzzing: Fuzzing, server: FuzzedServer, requests: FuzzRequests, watch: FileWatch | null = null) {
    this.#fuzzing = fuzzing
    this.#server = server
    this.#requests = requests
    this.#connection = new Connection(server.port)
    this.#watch = watch
  }

  async callAll(): Promise<void> {
    for (let asked = 0; ; asked++) {
      if (this.#watch !== null) await this.#waitFor(asked * QUIET_EVERY)
      const index = this.#server.death === null ? this.#fuzzing.next() : null
      if (index === null) break
      if (index % LOOK_EVERY === 0) this.#lookAtMemory(index)
      if (this.#watch === null && index % RAW_EVERY === 0) await this.#sendBytes(index)
      else await this.#ask(index)
    }
    this.#connection.close()
  }

  /** Until all together have asked so often. */
  async #waitFor(asked: number): Promise<void> {
    while (this.#fuzzing.made() < asked && !this.#fuzzing.isOver()) {
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }

  #count(what: string): void {
    this.#fuzzing.counts.set(what, (this.#fuzzing.counts.get(what) ?? 0) + 1)
  }

  async #ask(index: number): Promise<void> {
    const seed = this.#fuzzing.seed + index
    const request = this.#without(this.#requests.make(seed))
    const caller = callerOf(new Chance(seed + 0.5))
    const bytes = toBytes(request, this.#server, caller)
    this.#watch?.hasChanged()
    const violate = (message: string) => this.#fuzzing.violate(index, `${message}\n${asCurl(request, caller)}`)
    let answer: Answer
    try {
      answer = await this.#connection.ask(bytes, request.method === 'HEAD')
    } catch (error) {
      if (this.#server.death === null) violate(error instanceof Error ? error.message : String(error))
      return
    }
    this.#count(`${answer.status}`)
    if (caller === 'nobody') this.#count('without a key')
    const complaint = complaintAbout(this.#requests, request, caller, answer)
    if (complaint !== null) violate(`${complaint}: ${answer.text.slice(0, 500)}`)
    // Long lists say little that is new.
    const isTelling = request.method === 'POST' || index % 4 === 0
    if (answer.status < 300 && isTelling && answer.text.startsWith('{')) this.#requests.learn(JSON.parse(answer.text))
    if (this.#watch === null || answer.status < 400 || answer.status >= 500) return
    this.#count('refused, and seen to have changed nothing')
    if (this.#watch.hasChanged() && (await this.#writesAgain(this.#watch, bytes, request))) {
      violate(`Refused with ${answer.status}, and something was written`)
    }
  }

  /** What an earlier request set off, such as a bulk operation, may have written meanwhile. A request that writes does it each time. */
  async #writesAgain(watch: FileWatch, bytes: Buffer, { method }: FuzzRequest): Promise<boolean> {
    for (let time = 0; time < ASKED_AGAIN; time++) {
      await untilStill(watch)
      const { status } = await this.#connection.ask(bytes, method === 'HEAD')
      if (status < 400 || status >= 500 || !watch.hasChanged()) return false
    }
    return true
  }

  /** Where nothing may happen by itself, nothing is started. */
  #without(request: FuzzRequest): FuzzRequest {
    if (this.#watch === null || !request.path.startsWith('/api/scheduler/start')) return request
    return { ...request, path: '/api/scheduler/status', route: '/api/scheduler/status', method: 'GET', body: null }
  }

  async #sendBytes(index: number): Promise<void> {
    const bytes = rawBytes(this.#fuzzing.seed + index, this.#server.keys.admin.key)
    const shown = () => JSON.stringify(bytes.toString('latin1')).slice(0, 600)
    this.#count('raw bytes')
    try {
      const statuses = await exchange(this.#server.port, bytes)
      if (statuses.some((status) => status >= 500)) {
        this.#fuzzing.violate(index, `Answered with ${statuses.join()}: ${shown()}`)
      }
    } catch (error) {
      this.#fuzzing.violate(index, `${error instanceof Error ? error.message : ''}: ${shown()}`)
    }
  }

  #lookAtMemory(index: number): void {
    const { counts, violate } = this.#fuzzing
    const memory = Math.round(this.#server.memoryMb() ?? 0)
    counts.set('MB of memory at most', Math.max(memory, counts.get('MB of memory at most') ?? 0))
    if (memory > MEMORY_MAX_MB) violate(index, `The server has ${memory} MB of memory, more than ${MEMORY_MAX_MB}`)
  }
}

function callerOf(chance: Chance): Caller {
  if (chance.is(0.94)) return 'admin'
  return chance.of(['operator', 'viewer', 'nobody'])
}

function toBytes({ method, path, headers, body }: FuzzRequest, { port, keys }: FuzzedServer, caller: Caller): Buffer {
  const auth = caller === 'nobody' ? 'Bearer pawl_nobody' : `Bearer ${keys[caller].key}`
  const length = body === null ? {} : { 'content-length': `${Buffer.byteLength(body)}` }
  const given = { host: `127.0.0.1:${port}`, authorization: auth, ...headers, ...length }
  const lines = Object.entries(given).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1')
  return body === null ? head : Buffer.concat([head, Buffer.from(body as string)])
}

/** As a shell would send it. */
function asCurl({ method, path, headers, body }: FuzzRequest, caller: Caller): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
  const given = Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value.slice(0, 200)}`)}`)
  const data = body === null ? [] : [`--data-binary ${quoted(body.toString().slice(0, 1_500))}`]
  const parts = [`-X ${method} ${quoted(`http://127.0.0.1:4747${path.slice(0, 1_500)}`)}`, ...given, ...data]
  return `curl ${parts.join(' ')} (as ${caller})`
}

export function isEnough(violations: number): boolean {
  return violations >= TOLD_MAX
}

async function untilStill(watch: FileWatch): Promise<void> {
  const deadline = performance.now() + STILL_WITHIN_MS
  do {
    watch.hasChanged()
    await new Promise((resolve) => setTimeout(resolve, STILL_MS))
  } while (watch.hasChanged() && performance.now() < deadline)
}
