/** Worked examples for the end of a command's help: pairs of what to type and what it does. */
export function examples(pairs: readonly (readonly [command: string, meaning: string])[]): string {
  const lines = pairs.map(([command, meaning]) => `  # ${meaning}\n  $ ${command}`)
  return `\nExamples:\n${lines.join('\n')}`
}
