import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { killOwnGroup } from '../../platform/process-group.ts'
import { type Answer, type CommandOrder, type FromHost, openEnvelope, type ToHost } from './protocol.ts'
import { describeThrown } from './sent-error.ts'

// The launcher: the first file of a child process that runs an external command. `command.ts` starts it. Its channel is
// its lifeline: nothing here ever blocks, so it hears at once when the node is gone.
process.on('disconnect', killOwnGroup)

let command: ChildProcess | null = null

process.on('message', (value) => {
  const message = openEnvelope<ToHost>(value)
  if (message?.kind === 'run-command') run(message)
  if (message?.kind === 'interrupt') command?.kill('SIGTERM')
})

function run(order: CommandOrder): void {
  const refuse = (error: unknown) => answerWith({ kind: 'not-started', message: describeRefusal(order, error) })
  try {
    const started = start(order)
    command = started
    // A later error is about a signal that it may not be sent.
    started.on('error', (error) => started.pid === undefined && refuse(error))
    started.on('exit', (code, signal) => answerWith({ kind: 'exited', code, signal }))
  } catch (error) {
    refuse(error)
  }
}

function start({ argv: [program = '', ...args], cwd, env, input }: CommandOrder): ChildProcess {
  // It prints where we print, and stays in our process group, so that whoever kills the group kills it.
  const started = spawn(program, args, { cwd: cwd ?? process.cwd(), env, stdio: ['pipe', 'inherit', 'inherit'] })
  // A command need not read its input.
  started.stdin.on('error', () => {})
  started.stdin.end(input)
  return started
}

function describeRefusal({ argv: [program = ''], cwd }: CommandOrder, error: unknown): string {
  const { code, message } = describeThrown(error)
  if (cwd !== null && !existsSync(cwd)) return `Command ${program} cannot start in ${cwd}: there is no such folder.`
  if (code === 'ENOENT') return `Command ${program} was not found. Is it installed, and is its folder in PATH?`
  if (code === 'EACCES') return `Command ${program} may not be executed. Is the file executable?`
  return `Command ${program} could not be started: ${message}`
}

function answerWith(answer: Answer): void {
  const message: FromHost = { kind: 'answer', answer }
  process.send?.({ pawl: message }, undefined, undefined, () => process.exit(0))
}
