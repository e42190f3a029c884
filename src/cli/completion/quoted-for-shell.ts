/** One word for bash and zsh, whatever is in it. */
export function quotedForShell(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
