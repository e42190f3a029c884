/** The first message of a client has no letter. One that asks for encryption begins with this number, and is not understood. */
const ENCRYPTION_REQUEST = 80_877_103

const LENGTH_BYTES = 4

/** Something that the server answered: one message, whole. */
export interface Answer {
  readonly bytes: Buffer
  /** The request that it belongs to, counted from 1: the beginning of the connection. */
  readonly request: number
  /** With the last message of an answer: whether the connection is in a transaction now. Else null. */
  readonly state: 'idle' | 'in-transaction' | null
  /** How a statement was carried out, such as `COMMIT` or `SELECT 3`. Else null. */
  readonly tag: string | null
}

/** What a client and the server say to each other on one connection, as far as it is needed to lose a certain answer. */
export class Conversation {
  readonly #statements = new Map<string, string>()
  #fromClient: Buffer = Buffer.alloc(0)
  #fromServer: Buffer = Buffer.alloc(0)
  #hasBegun = false
  #isSecret = false
  /** The beginning of the connection is answered too. */
  #requests = 1
  #answered = 0

  /** The statements that the client asks to be carried out with these bytes, and the requests that they belong to. */
  hear(chunk: Buffer): { readonly text: string; readonly request: number }[] {
    const statements: { text: string; request: number }[] = []
    this.#fromClient = Buffer.concat([this.#fromClient, chunk])
    for (;;) {
      const message = this.#isSecret ? null : takeMessage(this.#fromClient, this.#hasBegun ? 1 : 0)
      if (message === null) return statements
      this.#fromClient = message.rest
      if (!this.#hasBegun) this.#begin(message.body)
      else if (message.kind === 'S') this.#requests++
      else if (message.kind === 'Q') statements.push({ text: firstText(message.body), request: ++this.#requests })
      else if (message.kind === 'P') this.#learn(message.body)
      else if (message.kind === 'B') {
        const text = this.#statements.get(secondText(message.body))
        // It is answered when the client has said that this was all.
        if (text !== undefined) statements.push({ text, request: this.#requests + 1 })
      }
    }
  }

  /** What the server says with these bytes. The rest comes when it is whole. */
  read(chunk: Buffer): Answer[] {
    if (this.#isSecret) return [{ bytes: chunk, request: 0, state: null, tag: null }]
    const answers: Answer[] = []
    this.#fromServer = Buffer.concat([this.#fromServer, chunk])
    for (;;) {
      const message = takeMessage(this.#fromServer, 1)
      if (message === null) return answers
      this.#fromServer = message.rest
      const { kind, body, bytes } = message
      const request = this.#answered + 1
      if (kind === 'Z') this.#answered++
      const state = kind !== 'Z' ? null : body.toString() === 'I' ? 'idle' : 'in-transaction'
      answers.push({ bytes, request, state, tag: kind === 'C' ? firstText(body) : null })
    }
  }

  #begin(body: Buffer): void {
    this.#hasBegun = true
    this.#isSecret = body.readUInt32BE(0) === ENCRYPTION_REQUEST
  }

  #learn(body: Buffer): void {
    this.#statements.set(firstText(body), secondText(body))
  }
}

interface Message {
  readonly kind: string
  readonly body: Buffer
  readonly bytes: Buffer
  readonly rest: Buffer
}

/** A letter (or none), a length that counts itself, and the body. */
function takeMessage(bytes: Buffer, letters: 0 | 1): Message | null {
  const headEnd = letters + LENGTH_BYTES
  if (bytes.length < headEnd) return null
  const end = letters + bytes.readUInt32BE(letters)
  if (bytes.length < end) return null
  return {
    kind: bytes.subarray(0, letters).toString(),
    body: bytes.subarray(headEnd, end),
    bytes: bytes.subarray(0, end),
    rest: bytes.subarray(end),
  }
}

function firstText(body: Buffer): string {
  return body.subarray(0, body.indexOf(0)).toString()
}

function secondText(body: Buffer): string {
  return firstText(body.subarray(body.indexOf(0) + 1))
}
