import { type Command, CommanderError } from 'commander'
import { EXIT } from './exit-codes.ts'

/**
 * `help jobs list` and `jobs help list` mean `jobs list --help`. Commander by itself would look at one word behind `help` only,
 * and not say which word it does not know. Any other command line stays as it is.
 */
export function withoutHelpCommand(program: Command, argv: readonly string[]): readonly string[] {
  const at = argv.indexOf('help')
  const others = argv.filter((_, index) => index !== at)
  if (at === -1 || others.some((word) => word.startsWith('-'))) return argv
  let command = program
  for (const [index, word] of others.entries()) {
    // A `help` behind a command that has no commands of its own is an argument, such as the name of a type.
    if (index === at && command.commands.length === 0) return argv
    const next = command.commands.find((each) => each.name() === word || each.aliases().includes(word))
    if (next === undefined) {
      if (index < at) return argv
      throw new CommanderError(EXIT.usage, 'commander.unknownCommand', `error: unknown command '${word}'`)
    }
    command = next
  }
  return at === others.length && command.commands.length === 0 ? argv : [...others, '--help']
}
