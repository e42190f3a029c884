import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Chance } from '../chance.ts'
import { type Recorder, sharedNow } from './record.ts'

/** How often a message is not taken the first time. The next attempt comes 5 s later, and is taken. */
const REFUSED = 0.04

/** Somebody who is told by webhooks. It writes down what came, and sometimes refuses it, or breaks the connection. */
export class Receiver {
  readonly #server: Server
  readonly #recorder: Recorder
  readonly #chance: Chance
  readonly #came = new Set<string>()
  /** From now on all is taken. */
  isKind = false

  private constructor(server: Server, recorder: Recorder, chance: Chance) {
    this.#server = server
    this.#recorder = recorder
    this.#chance = chance
    server.on('request', (request, response) => void this.#take(request, response))
  }

  static async start(recorder: Recorder, chance: Chance): Promise<Receiver> {
    const server = createServer()
    const receiver = new Receiver(server, recorder, chance)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return receiver
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/told`
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body: string
    try {
      body = await text(request)
    } catch {
      // Its sender was killed while it spoke.
      return
    }
    const id = String(request.headers['webhook-id'])
    const answer = this.#answerTo(id)
    const { event, job_id: jobId } = JSON.parse(body) as { event: string; job_id: string }
    const digest = createHash('sha1').update(body).digest('base64')
    await this.#recorder.write({ is: 'received', at: sharedNow(), id, event, jobId, digest, answer })
    if (answer === 'cut') request.socket.destroy()
    else response.writeHead(Number(answer)).end()
  }

  #answerTo(id: string): string {
    const isNew = !this.#came.has(id)
    this.#came.add(id)
    if (this.isKind || !isNew || !this.#chance.is(REFUSED)) return '200'
    return this.#chance.is(0.5) ? '500' : 'cut'
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
