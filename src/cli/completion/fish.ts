import { type CompletedCommand, valueFlags } from './command-tree.ts'

/** For fish, with descriptions. */
export function fishCompletion(commands: readonly CompletedCommand[]): string {
  return `# Completion of pawl for fish. Save it once:
#   pawl completion fish > ~/.config/fish/completions/pawl.fish
function __pawl_path
  set -l path
  set -l skip 0
  for word in (commandline -opc)[2..-1]
    if test $skip -eq 1
      set skip 0
      continue
    end
    switch $word
      case ${valueFlags(commands).replaceAll('|', ' ')}
        set skip 1
      case '-*'
        continue
      case '*'
        set -l next (string join ' ' -- $path $word)
        contains -- $next ${commands
          .filter(({ path }) => path !== '')
          .map(({ path }) => quoted(path))
          .join(' ')}; and set path $next
    end
  end
  echo $path
end
function __pawl_at
  test (string join ' ' -- (__pawl_path)) = "$argv[1]"
end
${commands.flatMap(linesOf).join('\n')}
`
}

function linesOf({ path, subcommands, choices, options }: CompletedCommand): string[] {
  const at = `complete -c pawl -n ${quoted(`__pawl_at ${quoted(path)}`)}`
  return [
    ...(subcommands.length > 0 ? [`${at} -f`] : []),
    ...subcommands.map(({ word, description }) => `${at} -a ${quoted(word)} -d ${quoted(description)}`),
    ...(choices.length > 0 ? [`${at} -f -a ${quoted(choices.join(' '))}`] : []),
    ...options.map(({ flags, takesValue, choices: values, description }) => {
      const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`))
      const value = values.length > 0 ? ` -x -a ${quoted(values.join(' '))}` : takesValue ? ' -r' : ''
      return `${at} ${names.join(' ')}${value} -d ${quoted(description)}`
    }),
  ]
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
