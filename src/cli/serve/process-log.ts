import type { Logger } from '../../platform/logger.ts'
import type { Cli } from '../cli.ts'
import { escapeLine, safeJson } from '../output/escape.ts'

/** One line on stderr for each thing that an operator should know; with `--verbose` also of what goes well. */
export function processLog(cli: Cli): Logger {
  const tell = (level: string) => (fields: Readonly<Record<string, unknown>>, message: string) => {
    const at = new Date(cli.clock.now()).toISOString()
    const details = Object.entries(fields).map(([name, value]) => `${name}=${textOf(value)}`)
    cli.stderr.write(`${escapeLine([at, `${level}:`, message, ...details].join(' '))}\n`)
  }
  return { info: cli.isVerbose ? tell('info') : () => {}, warn: tell('warning'), error: tell('error') }
}

function textOf(value: unknown): string {
  if (value instanceof Error) return safeJson(value.message)
  return typeof value === 'string' ? value : safeJson(value)
}
