import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

export type Exit = number | NodeJS.Signals

/** What a script tells: one JSON object per line of its standard output. */
export interface Told {
  readonly [key: string]: unknown
}

/** A script of ours as a process of its own. */
export class Script {
  readonly name: string
  /** Everything told so far, in order. */
  readonly told: Told[] = []
  /** Its exit code, or the signal that ended it. */
  readonly exited: Promise<Exit>
  /** The last that it complained of. */
  complaint = ''
  readonly #child: ChildProcess
  #hasExited = false

  /** It ends when the signal is aborted, however. */
  constructor(file: string, plan: { readonly name: string }, signal?: AbortSignal) {
    this.name = plan.name
    const child = spawn(process.execPath, [file, JSON.stringify(plan)], { stdio: ['pipe', 'pipe', 'pipe'] })
    this.#child = child
    child.stdin?.on('error', () => {})
    createInterface({ input: child.stdout }).on('line', (line) => this.#hear(line))
    createInterface({ input: child.stderr }).on('line', (line) => {
      this.complaint = `${this.complaint}${line}\n`.slice(-2_000)
    })
    // `close` comes when all it wrote has been read too.
    this.exited = new Promise<Exit>((resolve, reject) => {
      child.on('error', reject)
      child.on('close', (code, by) => {
        this.#hasExited = true
        resolve(by ?? code ?? 0)
      })
    })
    const end = () => void child.kill('SIGKILL')
    signal?.addEventListener('abort', end, { once: true })
    if (signal?.aborted === true) end()
    this.exited.then(
      () => signal?.removeEventListener('abort', end),
      () => {},
    )
  }

  get hasExited(): boolean {
    return this.#hasExited
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  #hear(line: string): void {
    try {
      this.told.push(JSON.parse(line) as Told)
    } catch {
      // It was killed in the middle of a line.
    }
  }
}

/** Waits until the question is answered with something else than null. */
export async function until<T>(ask: () => T | null | Promise<T | null>, withinMs: number, what: string): Promise<T> {
  const deadline = performance.now() + withinMs
  for (;;) {
    const answer = await ask()
    if (answer !== null) return answer
    if (performance.now() > deadline) throw new Error(`Expected within ${withinMs} ms: ${what}.`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** How it ended; or that it has not. */
export async function endWithin(script: Script, ms: number): Promise<number | string> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`nothing within ${ms} ms`), ms)
  })
  return await Promise.race([script.exited, late]).finally(() => clearTimeout(timer))
}
