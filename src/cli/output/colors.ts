import picocolors from 'picocolors'

export type Colors = ReturnType<typeof picocolors.createColors>

/**
 * Colours on a terminal only. `NO_COLOR` (any text) and `--no-color` switch them off, `FORCE_COLOR` (any text but 0) on:
 * what was asked for on the command line counts first, then NO_COLOR, then FORCE_COLOR.
 */
export function colorsFor(
  output: { readonly isTTY: boolean },
  env: Readonly<Record<string, string | undefined>>,
  isSwitchedOff: boolean,
): Colors {
  return picocolors.createColors(isColorful(output, env, isSwitchedOff))
}

function isColorful(
  output: { readonly isTTY: boolean },
  env: Readonly<Record<string, string | undefined>>,
  isSwitchedOff: boolean,
): boolean {
  if (isSwitchedOff || isSet(env['NO_COLOR'])) return false
  if (isSet(env['FORCE_COLOR'])) return env['FORCE_COLOR'] !== '0' && env['FORCE_COLOR'] !== 'false'
  return output.isTTY && env['TERM'] !== 'dumb'
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== ''
}
