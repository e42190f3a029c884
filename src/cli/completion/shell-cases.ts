import { type CompletedCommand, valueFlags } from './command-tree.ts'

// What bash and zsh have in common.

/** One word, whatever is in it. */
export function quotedForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** What a loop does with the word at `index`, so that in the end `path_` holds the words that lead to a command. */
export function followPath(commands: readonly CompletedCommand[], words: 'COMP_WORDS' | 'words'): string {
  const paths = commands.map(({ path }) => path).filter((path) => path !== '')
  return `word="\${${words}[index]}"
    case "$word" in
      ${valueFlags(commands)}) ((index++)); continue ;;
      -*) continue ;;
    esac
    case "\${path_:+$path_ }$word" in
${paths.map((path) => `      ${quotedForShell(path)}) path_=${quotedForShell(path)} ;;`).join('\n')}
    esac`
}

/** One case for each option whose value is one of a short list: what offers that list. */
export function valueCases(
  commands: readonly CompletedCommand[],
  offer: (choices: readonly string[]) => string,
): string {
  const cases = commands.flatMap(({ path, options }) =>
    options
      .filter(({ choices }) => choices.length > 0)
      .flatMap(({ flags, choices }) =>
        flags.map((flag) => `    ${quotedForShell(`${path}:${flag}`)}) ${offer(choices)}; return ;;`),
      ),
  )
  return cases.join('\n')
}
