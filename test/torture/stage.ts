import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Summary } from '../../torture/run-campaign.ts'

const MAIN = fileURLToPath(new URL('../../torture/dist/main.js', import.meta.url))

/** How a command of torture ended, and what it said. */
export interface Ended {
  readonly exitCode: number | null
  readonly output: string
  readonly errors: string
}

/** Runs the short form of a campaign as a user would, who wants to read it by a program. */
export async function runShort(...args: readonly string[]): Promise<Summary> {
  const ended = await torture(...args, '--short', '--json')
  if (ended.exitCode !== 0) throw new Error(inFull(args, ended))
  return JSON.parse(ended.output) as Summary
}

/** Runs `npm run torture -- <args>`, without building it once more. */
export function torture(...args: readonly string[]): Promise<Ended> {
  return runScript(MAIN, args)
}

/**
 * Runs a script. With `interruptedAt`, Ctrl-C is pressed as soon as it has said that on its standard error: as in a terminal, all
 * that it has started by then hears it, too.
 */
export async function runScript(script: string, args: readonly string[], interruptedAt?: string): Promise<Ended> {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  // It ends whatever it has started.
  const end = () => child.kill('SIGTERM')
  process.once('exit', end)
  child.once('close', () => process.off('exit', end))
  if (interruptedAt !== undefined) {
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => {
      if (said.includes(interruptedAt)) return
      said += chunk.toString()
      if (said.includes(interruptedAt)) process.kill(-(child.pid ?? 0), 'SIGINT')
    })
  }
  const [output, errors, exitCode] = await Promise.all([text(child.stdout), text(child.stderr), exited])
  return { exitCode, output, errors }
}

function inFull(args: readonly string[], { exitCode, output, errors }: Ended): string {
  return `Expected \`torture -- ${args.join(' ')}\` to end with 0, ended with ${exitCode}:\n${errors}\n${output}`
}
