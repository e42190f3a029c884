import type { Cli } from './cli.ts'
import { usageError } from './cli-error.ts'
import { refuseChangedNumbers } from './exact-numbers.ts'
import { readInput, readJson } from './read-options.ts'

type Fields = Record<string, unknown>

/** `--params` as the whole, and each `-p key=value` over it. Undefined: neither was given. */
export async function readParams(
  cli: Cli,
  { params, param }: { readonly params?: string; readonly param?: readonly string[] },
): Promise<unknown> {
  const whole = params === undefined ? undefined : readJson(await readInput(cli, params, '--params'), '--params')
  if (param === undefined) return whole
  if (whole !== undefined && !isObject(whole)) {
    throw usageError('Expected --params to be an object, because -p adds keys to it.')
  }
  return readPairs(param, whole ?? {})
}

/** `a=1` and `a.b=text`: a value that is JSON means that, everything else is text. */
function readPairs(pairs: readonly string[], start: Fields): Fields {
  const root = structuredClone(start)
  const seen = new Set<string>()
  for (const pair of pairs) {
    const at = pair.indexOf('=')
    const key = pair.slice(0, at)
    if (at < 1) throw usageError(`Expected -p to be key=value, got '${pair}'.`)
    if (seen.has(key)) throw usageError(`-p gives '${key}' twice. Give a list as JSON: -p '${key}=[1,2]'.`)
    seen.add(key)
    put(root, key, readValue(key, pair.slice(at + 1)))
  }
  return root
}

function put(root: Fields, key: string, value: unknown): void {
  const names = key.split('.')
  const last = names.pop() ?? ''
  let place = root
  for (const name of names) place = placeOf(place, name, key)
  refuseName(last, key)
  if (isObject(place[last])) throw usageError(`-p gives '${key}' a value, but it has keys of its own already.`)
  place[last] = value
}

function placeOf(place: Fields, name: string, key: string): Fields {
  refuseName(name, key)
  const there = Object.hasOwn(place, name) ? place[name] : undefined
  if (isObject(there)) return there
  if (there !== undefined) throw usageError(`-p gives '${key}', but '${name}' has a value that is not an object.`)
  const made: Fields = {}
  place[name] = made
  return made
}

function refuseName(name: string, key: string): void {
  if (name !== '' && name !== '__proto__') return
  throw usageError(`Expected -p to be a key such as a or a.b, got '${key}'. Use --params for unusual keys.`)
}

function readValue(key: string, text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return text
  }
  refuseChangedNumbers(text, `-p ${key}`)
  return value
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
