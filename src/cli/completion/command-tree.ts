import type { Command } from 'commander'

/** One command with what may follow it, as far as a shell can help. */
export interface CompletedCommand {
  /** The words that lead to it: `jobs list`; empty for the program itself. */
  readonly path: string
  readonly subcommands: readonly Word[]
  readonly options: readonly CompletedOption[]
  /** What its first argument may be, where that is a short list. */
  readonly choices: readonly string[]
}

export interface Word {
  readonly word: string
  readonly description: string
}

export interface CompletedOption {
  /** `-p` and `--param`. */
  readonly flags: readonly string[]
  readonly takesValue: boolean
  readonly choices: readonly string[]
  readonly description: string
}

/** Every command of the program, read off the program itself. */
export function commandTree(program: Command): CompletedCommand[] {
  const inherited = program.options.map(toOption)
  return walk(program, '', inherited)
}

function walk(command: Command, path: string, inherited: readonly CompletedOption[]): CompletedCommand[] {
  const below = command.commands.filter((each) => !isHidden(each))
  const own = path === '' ? inherited : [...command.options.map(toOption), ...inherited]
  const entry: CompletedCommand = {
    path,
    subcommands: below.flatMap((each) =>
      [each.name(), ...each.aliases()].map((word) => ({ word, description: each.description() })),
    ),
    options: [...own, HELP],
    choices: command.registeredArguments[0]?.argChoices ?? [],
  }
  const names = below.flatMap((each) => [each.name(), ...each.aliases()].map((name) => [name, each] as const))
  return [entry, ...names.flatMap(([name, each]) => walk(each, path === '' ? name : `${path} ${name}`, inherited))]
}

const HELP: CompletedOption = { flags: ['-h', '--help'], takesValue: false, choices: [], description: 'print help' }

function toOption(option: Command['options'][number]): CompletedOption {
  return {
    flags: [option.short, option.long].filter((flag) => flag !== undefined && flag !== null),
    takesValue: option.required || option.optional,
    choices: option.argChoices ?? [],
    description: option.description,
  }
}

/** Commander keeps this to itself, but says so in its types for nobody else's sake. */
function isHidden(command: Command): boolean {
  return (command as Command & { readonly _hidden?: boolean })._hidden === true
}

/** All options that take a value, wherever they stand, as alternatives of a pattern. */
export function valueFlags(commands: readonly CompletedCommand[]): string {
  const flags = commands.flatMap(({ options }) =>
    options.filter(({ takesValue }) => takesValue).flatMap((option) => option.flags),
  )
  return [...new Set(flags)].join('|')
}
