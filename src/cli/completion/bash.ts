import { type CompletedCommand, valueFlags } from './command-tree.ts'
import { followPath, quotedForShell, valueCases } from './shell-cases.ts'

/** For bash 3.2 and newer. What we cannot help with is completed as the name of a file. */
export function bashCompletion(commands: readonly CompletedCommand[]): string {
  return `# Completion of pawl for bash. Put this line into ~/.bashrc:
#   source <(pawl completion bash)
_pawl() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" path_='' word index
  for ((index = 1; index < COMP_CWORD; index++)); do
    ${followPath(commands, 'COMP_WORDS')}
  done
  COMPREPLY=()
  case "$path_:$before" in
${valueCases(commands, (choices) => `COMPREPLY=($(compgen -W ${quotedForShell(choices.join(' '))} -- "$current"))`)}
    *:${valueFlags(commands).replaceAll('|', '|*:')}) return ;;
  esac
  local words=''
  case "$path_" in
${commands.map((command) => `    ${quotedForShell(command.path)}) words=${quotedForShell(wordsOf(command).join(' '))} ;;`).join('\n')}
  esac
  while IFS='' read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$words" -- "$current")
}
complete -o default -F _pawl pawl
`
}

/** Options come last in the list, and only where somebody asks for them. */
function wordsOf({ subcommands, choices, options }: CompletedCommand): string[] {
  return [...subcommands.map(({ word }) => word), ...choices, ...options.flatMap(({ flags }) => flags)]
}
