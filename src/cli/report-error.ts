import { type Command, CommanderError } from 'commander'
import { PawlApiError } from '../client/api-error.ts'
import { PawlError } from '../domain/errors.ts'
import type { Cli } from './cli.ts'
import { CliError } from './cli-error.ts'
import { EXIT, exitCodeOfStatus } from './exit-codes.ts'
import { Interrupted } from './io.ts'
import { escapeBlock, escapeLine, safeJson } from './output/escape.ts'
import type { Target } from './target.ts'

/** What a person and a program are told of an error. */
interface Told {
  readonly exitCode: number
  /** One or two sentences. */
  readonly message: string
  /** What to do, where the message does not say it. */
  readonly hint?: string | undefined
  readonly problem: Readonly<Record<string, unknown>>
}

/** Tells what went wrong on stderr, in a sentence or as JSON, and returns what to exit with. */
export async function reportError(
  cli: Cli,
  program: Command,
  argv: readonly string[],
  error: unknown,
): Promise<number> {
  const { interrupted } = cli.io
  if (interrupted.aborted && interrupted.reason instanceof Interrupted) return interrupted.reason.exitCode
  if (error instanceof CommanderError && isHelp(error)) return error.exitCode === 0 ? EXIT.done : EXIT.usage
  // An answer came, so the target is known. After a wrong command line nobody wants a configuration to be loaded.
  const target = error instanceof PawlApiError ? await cli.target() : null
  const told = tell(error, { usageOf: () => usageOf(program, argv), target, argv })
  const isJson = cli.isJson || hasFlag(argv, '--json')
  const isVerbose = cli.isVerbose || hasFlag(argv, '--verbose')
  if (isJson) cli.stderr.write(`${safeJson(told.problem, 2)}\n`)
  else {
    const { red, dim } = cli.errorColors
    cli.stderr.write(`${red('error:')} ${escapeLine(told.message)}\n`)
    if (told.hint !== undefined) cli.stderr.write(`${dim(escapeLine(told.hint))}\n`)
  }
  if (isVerbose && error instanceof Error) cli.stderr.write(`${escapeBlock(stackOf(error))}\n`)
  return told.exitCode
}

interface About {
  readonly usageOf: () => string
  readonly target: Target | null
  readonly argv: readonly string[]
}

function tell(error: unknown, about: About): Told {
  if (error instanceof CommanderError) return tellUsage(error, about)
  if (error instanceof PawlApiError) return tellProblem(error, about)
  if (error instanceof CliError) {
    const { message, code, exitCode } = error
    return { exitCode, message, problem: { code, detail: message } }
  }
  if (error instanceof PawlError) {
    const { message, code, path, details } = error
    return {
      exitCode: EXIT.failed,
      message,
      problem: { ...details, code, detail: message, ...(path !== undefined && { path }) },
    }
  }
  const message = error instanceof Error ? error.message : String(error)
  return {
    exitCode: EXIT.failed,
    message: `Something went wrong: ${message}`,
    hint: 'Run it again with --verbose to see where.',
    problem: { code: 'internal_error', detail: message },
  }
}

function tellUsage(error: CommanderError, { usageOf }: About): Told {
  const text = error.message.replace(/^error: /, '').replace(/\n\((Did you mean [^)]*)\)/, '. $1')
  const message = /[.?]$/.test(text) ? capitalised(text) : `${capitalised(text)}.`
  const problem = { code: 'usage', detail: message }
  return { exitCode: EXIT.usage, message, hint: `See \`${usageOf()} --help\`.`, problem }
}

function tellProblem(error: PawlApiError, { target, argv }: About): Told {
  const { status, code, path, problem } = error
  return {
    exitCode: exitCodeOf(code, status),
    message: messageOf(error, path),
    hint: hintFor(error, target) ?? textHint(error, argv),
    problem,
  }
}

function exitCodeOf(code: string, status: number): number {
  // Whoever answered is no Pawl server: its 404 says nothing about what was asked for.
  return code === 'unexpected_answer' ? EXIT.failed : exitCodeOfStatus(status)
}

/** With the place of the fault, where the sentence does not name it already, and all further faults. */
function messageOf({ message, problem }: PawlApiError, path: string | undefined): string {
  const errors = Array.isArray(problem['errors']) ? (problem['errors'] as { path: string; message: string }[]) : []
  const others = errors.slice(1).map((other) => `\`${other.path}\`: ${other.message}`)
  const place = path === undefined || path === '' || message.includes(path) ? '' : ` (at \`${path}\`)`
  return [`${message}${place}`, ...others].join(' ')
}

function hintFor({ status, code }: PawlApiError, target: About['target']): string | undefined {
  if (target === null) return undefined
  if (code === 'unexpected_answer') return undefined
  if (status === 404 || code === 'unknown_type') return `Looked in ${target.description}.`
  if (status === 401) return `Give a key of ${target.description} with --key or PAWL_API_KEY.`
  if (code === 'no_node') return 'Start one with `pawl worker` or `pawl serve`.'
  return undefined
}

/** `-p name=1` is a number, which a param that must be a text refuses; how to write a text is not obvious. */
function textHint({ path, message }: PawlApiError, argv: readonly string[]): string | undefined {
  if (path === undefined || !path.startsWith('params.') || !/\bstring\b/i.test(message)) return undefined
  const key = path.slice('params.'.length)
  const pair = argv.find((word) => word.startsWith(`${key}=`))
  const value = pair?.slice(key.length + 1) ?? '"'
  return /^["[{]/.test(value) ? undefined : `To give it as text write -p '${key}="${value}"'.`
}

const HELP_CODES = ['commander.help', 'commander.helpDisplayed', 'commander.version']

function isHelp(error: CommanderError): boolean {
  return HELP_CODES.includes(error.code)
}

/** `pawl jobs list`, as far as the words are commands. */
function usageOf(program: Command, argv: readonly string[]): string {
  let command = program
  for (const word of argv) {
    const next = command.commands.find((each) => each.name() === word || each.aliases().includes(word))
    if (next !== undefined) command = next
  }
  const names: string[] = []
  for (let each: Command | null = command; each !== null; each = each.parent) names.unshift(each.name())
  return names.join(' ')
}

/** When the command line could not be read, nobody has adopted its options. */
export function hasFlag(argv: readonly string[], flag: string): boolean {
  const end = argv.indexOf('--')
  return (end === -1 ? argv : argv.slice(0, end)).includes(flag)
}

function stackOf(error: Error): string {
  const cause = error.cause instanceof Error ? `\nCaused by ${stackOf(error.cause)}` : ''
  return `${error.stack ?? error.message}${cause}`
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
