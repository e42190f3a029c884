import { parseArgs } from 'node:util'
import type { Campaign, StoreKind } from './campaign.ts'

export interface RunCommand {
  readonly kind: 'run'
  readonly campaign: Campaign
  readonly seed: number
  readonly amount: number
  readonly store: StoreKind
  readonly isShort: boolean
  readonly endsWithFirst: boolean
  readonly only: string | null
  /** One JSON object on the standard output instead of words. */
  readonly asJson: boolean
  /** Puts what was counted into the table of docs/reliability.md. */
  readonly writesDocs: boolean
}

export type Command = RunCommand | { readonly kind: 'help' } | { readonly kind: 'refused'; readonly message: string }

const SEED_END = 0x1_0000_0000

export function readCommand(args: readonly string[], campaigns: readonly Campaign[]): Command {
  const [name, ...rest] = args
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') return { kind: 'help' }
  const campaign = campaigns.find((candidate) => candidate.name === name)
  if (campaign === undefined) {
    const names = campaigns.map((candidate) => candidate.name).join(', ')
    return { kind: 'refused', message: `Expected a campaign (${names}), got \`${name}\`.` }
  }
  try {
    return readOptions(campaign, rest)
  } catch (error) {
    return { kind: 'refused', message: error instanceof Error ? error.message : String(error) }
  }
}

function readOptions(campaign: Campaign, args: readonly string[]): Command {
  const { amount, stores = [] } = campaign
  const { values } = parseArgs({
    args: [...args],
    options: {
      [amount.name]: { type: 'string' },
      seed: { type: 'string' },
      store: { type: 'string' },
      short: { type: 'boolean' },
      bail: { type: 'boolean' },
      only: { type: 'string' },
      json: { type: 'boolean' },
      'write-docs': { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  if (values['help'] === true) return { kind: 'help' }
  const isShort = values['short'] === true
  return {
    kind: 'run',
    campaign,
    seed: readNumber('seed', values['seed'], () => Math.floor(Math.random() * SEED_END)),
    amount: readNumber(amount.name, values[amount.name], () => (isShort ? amount.short : amount.usual)),
    store: readStore(values['store'], stores),
    isShort,
    endsWithFirst: values['bail'] === true,
    only: readPart(values['only'], campaign.parts ?? []),
    asJson: values['json'] === true,
    writesDocs: values['write-docs'] === true,
  }
}

function readNumber(name: string, value: string | boolean | undefined, otherwise: () => number): number {
  if (value === undefined) return otherwise()
  const number = Number(value)
  if (value !== '' && Number.isFinite(number) && number >= 0) return number
  throw new Error(`Expected --${name} to be a number from 0 on, got \`${value}\`.`)
}

function readStore(value: string | boolean | undefined, stores: readonly StoreKind[]): StoreKind {
  if (value === undefined) return stores[0] ?? 'sqlite'
  const store = stores.find((kind) => kind === value)
  if (store !== undefined) return store
  const expected = stores.length === 0 ? 'no --store: this campaign knows its store' : `--store ${stores.join(' or ')}`
  throw new Error(`Expected ${expected}, got \`${value}\`.`)
}

function readPart(value: string | boolean | undefined, parts: readonly string[]): string | null {
  if (value === undefined) return null
  const part = parts.find((name) => name === value)
  if (part !== undefined) return part
  const expected =
    parts.length === 0 ? 'no --only: this campaign has no parts' : `--only with one of ${parts.join(', ')}`
  throw new Error(`Expected ${expected}, got \`${value}\`.`)
}

export function usage(campaigns: readonly Campaign[]): string {
  const width = Math.max(...campaigns.map(({ name }) => name.length))
  const lines = campaigns.map(({ name, about, amount, stores = [] }) => {
    const store = stores.length > 1 ? ` [--store ${stores.join('|')}]` : ''
    return `  ${name.padEnd(width)}  ${about}\n  ${''.padEnd(width)}  [--${amount.name} ${amount.usual}]${store}`
  })
  return `Usage: npm run torture -- <campaign> [options]

Tries to break Pawl, and compares what was seen from outside with what the database says.

${lines.join('\n')}

Options:
  --seed <number>  decides everything that is left to chance; a new one each time unless given
  --only <name>    only this part, in a campaign that has parts
  --bail           ends with the first violation
  --short          as little of it as \`npm test\` does
  --json           one JSON object instead of words
  --write-docs     puts what was counted into docs/reliability.md

Ends with 0 when nothing was violated, with 1 when something was, with 2 when it could not be run.
Ctrl-C ends it early, and tells what it has seen until then.`
}
