import type { Chance } from '../chance.ts'

export type Schema = { readonly [keyword: string]: unknown }

/** What no schema has asked for. Functions, so that large ones exist only while they are sent. */
export const NASTY: readonly (() => unknown)[] = [
  () => null,
  () => true,
  () => 0,
  () => -1,
  () => -0,
  () => 1.5,
  () => 1e308,
  () => -1e308,
  () => Number.MAX_SAFE_INTEGER + 2,
  () => 2_147_483_648,
  () => -2_147_483_649,
  () => '',
  () => ' ',
  () => 'NaN',
  () => 'Infinity',
  () => '0x10',
  () => '\u0000',
  () => 'a\u0000b',
  () => '\ud800',
  () => '\udfff\ud800',
  () => '\u202e\u0007\u001b[2J',
  () => '😀'.repeat(50),
  () => 'é'.normalize('NFD'),
  () => 'x'.repeat(600),
  () => 'x'.repeat(20_000),
  () => '../../etc/passwd',
  () => "'; drop table pawl_jobs; --",
  () => '%00%ff',
  () => '2026-02-30T25:61:61Z',
  () => '+275760-09-13T00:00:00.001Z',
  () => [],
  () => {
    return {}
  },
  () => [[]],
  () => [null],
  () => Array.from({ length: 2_000 }, () => 0),
  () => Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`k${n}`, n])),
  () => Array.from({ length: 300 }, (_, n) => ({ type: 'story', ref: `r${n}`, depends_on: [`#r${n + 1}`] })),
  () => JSON.parse(`${'['.repeat(60)}${']'.repeat(60)}`) as unknown,
  () => JSON.parse(`${'{"a":'.repeat(100)}1${'}'.repeat(100)}`) as unknown,
]

const LETTERS = 'abcdefgh0123456789-_.'.split('')

/** Fields whose value is the id of a Job. */
const NAMES_A_JOB = ['depends_on', 'before', 'after']

/** What a schema cannot say: without these hardly anything would be accepted. Names under `.invalid` are nobody's. */
const FIELDS: Readonly<Record<string, readonly unknown[]>> = {
  url: [
    'https://example.invalid/hook',
    'https://hooks.example.invalid:8443/a?b=c',
    'http://127.0.0.1:1/',
    'https://[::1]/',
  ],
  webhook_url: ['https://example.invalid/job', 'http://169.254.169.254/latest'],
  cron: ['* * * * *', '*/5 * * * * *', '@daily', '0 0 30 2 *', '59 23 31 12 *', '0 2 * * 0'],
  cron_expression: ['* * * * *', '0 0 1 1 *'],
  timezone: ['UTC', 'Europe/Berlin', 'America/New_York', 'Pacific/Apia', 'Mars/Olympus'],
  every_ms: [1_000, 60_000, 86_400_000],
  run_at: ['2020-01-01T00:00:00Z', '2099-12-31T23:59:59.999Z', '1970-01-01T00:00:00Z'],
  ref: ['a', 'b'],
  limit: [1, 1, 2, 3, 5, 10, 200],
}

/** One of several: what it says, and what all say. */
function oneOfThese(schema: Schema, chosen: Schema): Schema {
  const required = [schema, chosen].flatMap((one) => (one['required'] ?? []) as string[])
  const all = { ...schema, ...chosen, ...(required.length > 0 && { required }) }
  return Object.fromEntries(Object.entries(all).filter(([keyword]) => keyword in chosen || !CHOICES.includes(keyword)))
}

const CHOICES = ['anyOf', 'oneOf']

/** Values that a schema takes, or nearly. */
export class Values {
  #chance: Chance
  readonly #components: Readonly<Record<string, Schema>>
  /** Ids that were answered, by the name of their field: only with these can requests go deep. */
  readonly #ids: ReadonlyMap<string, readonly string[]>

  constructor(
    chance: Chance,
    components: Readonly<Record<string, Schema>>,
    ids: ReadonlyMap<string, readonly string[]>,
  ) {
    this.#chance = chance
    this.#components = components
    this.#ids = ids
  }

  /** From now on this decides. */
  drawFrom(chance: Chance): void {
    this.#chance = chance
  }

  of(schema: Schema, name = ''): unknown {
    const { $ref, anyOf, oneOf, allOf, enum: words, examples, type } = schema
    const known = this.#ids.get(NAMES_A_JOB.includes(name) ? 'job_id' : name) ?? []
    if (known.length > 0 && type !== 'array' && this.#chance.is(0.8)) return this.#chance.of(known)
    if (typeof $ref === 'string') return this.of(this.#components[$ref.split('/').at(-1) as string] as Schema, name)
    if (Array.isArray(examples) && this.#chance.is(0.3)) return structuredClone(this.#chance.of(examples as unknown[]))
    const choices = anyOf ?? oneOf
    if (Array.isArray(choices)) return this.of(oneOfThese(schema, this.#chance.of(choices as Schema[])), name)
    if (Array.isArray(allOf)) return this.of((allOf as Schema[])[0] as Schema, name)
    if ('const' in schema) return schema['const']
    if (Array.isArray(words)) return this.#chance.of(words as unknown[])
    if (FIELDS[name] !== undefined && this.#chance.is(0.8)) return this.#chance.of(FIELDS[name])
    return this.#ofType(schema, name)
  }

  #ofType(schema: Schema, name: string): unknown {
    const { type } = schema
    switch (Array.isArray(type) ? this.#chance.of(type as string[]) : type) {
      case 'object':
        return this.#object(schema)
      case 'array':
        return Array.from({ length: this.#chance.below(4) }, () => this.of((schema['items'] ?? {}) as Schema, name))
      case 'string':
        return this.#text(schema)
      case 'integer':
      case 'number':
        return this.#number(schema)
      case 'boolean':
        return this.#chance.is(0.5)
      case 'null':
        return null
      default:
        return this.#chance.of([null, 1, 'text', { genre: 'gothic' }, [1, 2, 3]])
    }
  }

  #object(schema: Schema): Record<string, unknown> {
    const properties = (schema['properties'] ?? {}) as Record<string, Schema>
    const required = (schema['required'] ?? []) as string[]
    const chosen = Object.entries(properties).filter(([name]) => required.includes(name) || this.#chance.is(0.3))
    return Object.fromEntries(chosen.map(([name, property]) => [name, this.of(property, name)]))
  }

  #text({
    minLength = 0,
    maxLength = 40,
    format,
  }: {
    minLength?: number
    maxLength?: number
    format?: string
  }): string {
    if (format === 'date-time') return new Date(this.#chance.below(4_102_444_800) * 1_000).toISOString()
    const length = Math.min(maxLength, minLength + this.#chance.below(20))
    return Array.from({ length }, () => this.#chance.of(LETTERS))
      .join('')
      .replace(/^[^a-z0-9]/, 'a')
  }

  #number({ minimum = -1_000, maximum = 1_000_000, type }: Schema & { minimum?: number; maximum?: number }): number {
    if (this.#chance.is(0.2)) return this.#chance.of([minimum, maximum])
    const value = minimum + this.#chance.next() * Math.min(1_000_000, maximum - minimum)
    return type === 'integer' ? Math.round(value) : value
  }

  /** The same value with something wrong in it, somewhere. */
  mutate(value: unknown): unknown {
    const nasty = this.#chance.of(NASTY)()
    if (typeof value !== 'object' || value === null || this.#chance.is(0.1)) return nasty
    if (Array.isArray(value)) {
      if (value.length === 0 || this.#chance.is(0.3)) return [...value, nasty]
      const at = this.#chance.below(value.length)
      return value.map((item, index) => (index === at ? this.mutate(item) : (item as unknown)))
    }
    const entries = Object.entries(value)
    if (entries.length === 0 || this.#chance.is(0.2)) return { ...value, [this.#newField()]: nasty }
    const [name] = this.#chance.of(entries)
    if (this.#chance.is(0.15)) return Object.fromEntries(entries.filter(([key]) => key !== name))
    return Object.fromEntries(entries.map(([key, item]) => [key, key === name ? this.mutate(item) : item]))
  }

  #newField(): string {
    return this.#chance.of(['unknown', 'job_id', 'TYPE', '', '\u0000', 'toString', 'x'.repeat(300), 'hasOwnProperty'])
  }
}
