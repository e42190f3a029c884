import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Cli } from './cli.ts'
import { usageError } from './cli-error.ts'
import { refuseChangedNumbers } from './exact-numbers.ts'

/** What was given, without what was not: an absent option is not an empty one. */
export function given<Fields extends object>(fields: Fields): Present<Fields> {
  const present = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(present) as Present<Fields>
}

type Present<Fields> = { [Name in keyof Fields]: Exclude<Fields[Name], undefined> } extends infer All
  ? Partial<Pick<All, OptionalKeys<Fields> & keyof All>> & Pick<All, RequiredKeys<Fields> & keyof All>
  : never

type OptionalKeys<Fields> = {
  [Name in keyof Fields]-?: undefined extends Fields[Name] ? Name : never
}[keyof Fields]

type RequiredKeys<Fields> = Exclude<keyof Fields, OptionalKeys<Fields>>

/** For options that may be given several times: `--tag a --tag b`. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value]
}

export function readWholeOption(text: string | undefined, option: string): number | undefined {
  if (text === undefined) return undefined
  const number = Number(text)
  if (/^[+-]?\d+$/.test(text) && Number.isSafeInteger(number)) return number
  throw usageError(`Expected ${option} to be a whole number, got '${text}'.`)
}

/** One of the words, as the API spells them. Upper and lower case do not matter on a command line. */
export function readWordOption<const Word extends string>(
  text: string | undefined,
  words: readonly Word[],
  option: string,
): Word | undefined {
  if (text === undefined) return undefined
  const word = words.find((each) => each.toLowerCase() === text.toLowerCase())
  if (word !== undefined) return word
  throw usageError(`Expected ${option} to be ${words.join(', ')}, got '${text}'.`)
}

/** An instant with its zone, such as 2026-11-16T08:00:00Z. */
export function readInstantOption(text: string | undefined, option: string): string | undefined {
  if (text === undefined) return undefined
  const isWhole = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/i.test(text)
  const at = Date.parse(text)
  if (isWhole && isCalendarDay(text) && Number.isFinite(at)) return new Date(at).toISOString()
  throw usageError(`Expected ${option} to be an instant with its zone such as 2026-11-16T08:00:00Z, got '${text}'.`)
}

/** Without this, 30 February would silently become 2 March. */
function isCalendarDay(text: string): boolean {
  const day = text.slice(0, 10)
  const at = Date.parse(`${day}T00:00:00Z`)
  return Number.isFinite(at) && new Date(at).toISOString().startsWith(day)
}

/** A large list of jobs is the largest thing that the API takes. */
const INPUT_MAX_BYTES = 32 * 1_048_576

/** The text itself, `@file` for the content of a file, or `-` for what comes on stdin. */
export async function readInput(cli: Cli, text: string, option: string): Promise<string> {
  if (text === '-') return cli.orInterrupted(readStdin(cli, option))
  return text.startsWith('@') ? readNamedFile(cli, text.slice(1), option) : text
}

export async function readNamedFile(cli: Cli, file: string, option: string): Promise<string> {
  if (file === '-') return cli.orInterrupted(readStdin(cli, option))
  try {
    return withoutMark(await cli.orInterrupted(readFile(resolve(cli.cwd, file), 'utf8')))
  } catch (error) {
    if (cli.interrupted.aborted) throw error
    const reason = (error as NodeJS.ErrnoException).code ?? 'unknown error'
    throw usageError(`The file ${file} of ${option} cannot be read (${reason}).`)
  }
}

async function readStdin(cli: Cli, option: string): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of cli.io.stdin) {
    const bytes = Buffer.from(chunk as Buffer | string)
    size += bytes.length
    if (size > INPUT_MAX_BYTES) throw usageError(`Expected ${option} to get at most ${INPUT_MAX_BYTES} bytes on stdin.`)
    chunks.push(bytes)
  }
  return withoutMark(Buffer.concat(chunks).toString('utf8'))
}

/** Some editors begin a file with a mark of its byte order, which is no JSON. */
function withoutMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text
}

export function readJson(text: string, option: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw usageError(`Expected ${option} to be JSON: ${(error as Error).message}`)
  }
  refuseChangedNumbers(text, option)
  return value
}
