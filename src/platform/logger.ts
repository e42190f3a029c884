/** Where Pawl tells an operator what happened. The shape of pino's logger, so that one can be handed in. */
export interface Logger {
  info(fields: Readonly<Record<string, unknown>>, message: string): void
  warn(fields: Readonly<Record<string, unknown>>, message: string): void
  error(fields: Readonly<Record<string, unknown>>, message: string): void
}

/** The default: silent about what is well, one line on stderr about what is not. */
export const stderrLogger: Logger = {
  info() {},
  warn: (fields, message) => print('warning', fields, message),
  error: (fields, message) => print('error', fields, message),
}

function print(level: string, fields: Readonly<Record<string, unknown>>, message: string): void {
  const details = Object.entries(fields)
    .map(([name, value]) => `${name}=${value instanceof Error ? value.message : String(value)}`)
    .join(' ')
  process.stderr.write(`pawl ${level}: ${message}${details === '' ? '' : ` (${details})`}\n`)
}

/** A logger that fails must not stop what it only tells about. */
export function neverThrowing(logger: Logger): Logger {
  const tell =
    (level: keyof Logger) =>
    (fields: Readonly<Record<string, unknown>>, message: string): void => {
      try {
        logger[level](fields, message)
      } catch {
        // There is nobody left to tell.
      }
    }
  return { info: tell('info'), warn: tell('warn'), error: tell('error') }
}
