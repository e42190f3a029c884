import { Option } from 'commander'

/**
 * An option with a few words to choose from, which a shell can complete. What was given is checked by `readWordOption`: it does
 * not mind upper and lower case, and its message is ours.
 */
export function choice(flags: string, description: string, words: readonly string[]): Option {
  const option = new Option(flags, description)
  option.argChoices = [...words]
  return option
}
