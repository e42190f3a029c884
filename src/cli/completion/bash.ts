import { type CompletedCommand, valueFlags } from './command-tree.ts'
import { quotedForShell } from './quoted-for-shell.ts'

/** For bash 3.2 and newer. What we cannot help with is completed as the name of a file. */
export function bashCompletion(commands: readonly CompletedCommand[]): string {
  return `# Completion of pawl for bash. Put this line into ~/.bashrc:
#   source <(pawl completion bash)
_pawl() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" path='' word index
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    case "$word" in
      ${valueFlags(commands)}) ((index++)); continue ;;
      -*) continue ;;
    esac
    case "\${path:+$path }$word" in
${commands
  .filter(({ path }) => path !== '')
  .map(({ path }) => `      ${quotedForShell(path)}) path=${quotedForShell(path)} ;;`)
  .join('\n')}
    esac
  done
  COMPREPLY=()
  case "$path:$before" in
${valueCases(commands)}
    *:${valueFlags(commands).replaceAll('|', '|*:')}) return ;;
  esac
  local words=''
  case "$path" in
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

function valueCases(commands: readonly CompletedCommand[]): string {
  return commands
    .flatMap(({ path, options }) =>
      options
        .filter(({ choices }) => choices.length > 0)
        .flatMap(({ flags, choices }) =>
          flags.map(
            (flag) =>
              `    ${quotedForShell(`${path}:${flag}`)}) COMPREPLY=($(compgen -W ${quotedForShell(choices.join(' '))} -- "$current")); return ;;`,
          ),
        ),
    )
    .join('\n')
}
