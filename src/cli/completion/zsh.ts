import { type CompletedCommand, valueFlags } from './command-tree.ts'
import { followPath, quotedForShell, valueCases } from './shell-cases.ts'

/** For zsh, with descriptions. */
export function zshCompletion(commands: readonly CompletedCommand[]): string {
  return `#compdef pawl
# Completion of pawl for zsh. Put this line into ~/.zshrc, after compinit:
#   source <(pawl completion zsh)
_pawl() {
  local path_='' word index
  for ((index = 2; index < CURRENT; index++)); do
    ${followPath(commands, 'words')}
  done
  case "$path_:\${words[CURRENT-1]}" in
${valueCases(commands, (choices) => `compadd -- ${choices.map(quotedForShell).join(' ')}`)}
  esac
  case "\${words[CURRENT-1]}" in
    ${valueFlags(commands)}) _files; return ;;
  esac
  local -a found
  case "$path_" in
${commands.map((command) => `    ${quotedForShell(command.path)}) found=(${wordsOf(command).join(' ')}) ;;`).join('\n')}
  esac
  _describe 'pawl' found || _files
}
compdef _pawl pawl
`
}

function wordsOf({ subcommands, choices, options }: CompletedCommand): string[] {
  return [
    ...subcommands.map(({ word, description }) => described(word, description)),
    ...choices.map(quotedForShell),
    ...options.flatMap(({ flags, description }) => flags.map((flag) => described(flag, description))),
  ]
}

/** A colon parts the word from its description. */
function described(word: string, description: string): string {
  return quotedForShell(`${word.replaceAll(':', '\\:')}:${description}`)
}
