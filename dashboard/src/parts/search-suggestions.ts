import { ask } from '../api/http.ts'
import { session } from '../api/session.ts'
import { useLive } from '../live/use-live.ts'
import { FILTERS, type FilterName } from '../pages/job-filters.ts'
import { shortId } from './copy.tsx'

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** So many completions of one kind. */
const SHOWN_MAX = 8

export function isId(text: string): boolean {
  return ID.test(text)
}

export interface Suggestion {
  readonly text: string
  readonly words: string
  /** Whether it is complete, or goes on to be typed. */
  readonly isWhole: boolean
}

export interface Known {
  readonly types: readonly string[]
  /** Those of the jobs that are shown. */
  readonly tags: readonly string[]
  /** Of the kind that is being typed. */
  readonly named: readonly Named[]
}

interface Named {
  readonly id: string
  readonly name: string
}

/** Tokens that stand for an id, and are typed by name. */
const NAMED = ['template', 'schedule', 'group'] as const
export type NamedKind = (typeof NAMED)[number]

export function namedKindOf(typed: string): NamedKind | null {
  return NAMED.find((kind) => typed.trimStart().startsWith(`${kind}:`)) ?? null
}

async function loadNamed(kind: NamedKind, signal: AbortSignal): Promise<readonly Named[]> {
  const query = { limit: '200' } as never
  if (kind === 'template') {
    const { items } = await ask('GET /api/job-templates', { query, signal })
    return items.map(({ template_id: id, name }) => ({ id, name }))
  }
  if (kind === 'schedule') {
    const { items } = await ask('GET /api/schedules', { query, signal })
    return items.map(({ schedule_id: id, name }) => ({ id, name }))
  }
  const { items } = await ask('GET /api/job-groups', { query, signal })
  return items.flatMap(({ group_id: id, name }) => (name === null ? [] : [{ id, name }]))
}

/** The things of a kind and their names, asked for only while somebody needs them. */
export function useNamed(kind: NamedKind | null): readonly Named[] {
  const named = useLive(kind === null ? null : `named ${kind}`, (signal) => loadNamed(kind as NamedKind, signal), {
    concerns: () => false,
  })
  return named.data ?? []
}

/** What the name of a chosen thing is, if it is known. */
export function nameIn(named: readonly Named[], id: string): string {
  return named.find((one) => one.id === id)?.name ?? shortId(id)
}

function mayUse(name: FilterName): boolean {
  return (session.value?.rights.see_payloads ?? true) || (name !== 'params_path' && name !== 'error')
}

export function suggestionsFor(typed: string, known: Known): Suggestion[] {
  const text = typed.trim()
  if (isId(text)) return [{ text, words: 'open this job', isWhole: true }]
  const colon = text.indexOf(':')
  if (colon !== -1) return completionsOf(text.slice(0, colon), text.slice(colon + 1).trim(), known, text)
  const names = Object.entries(FILTERS).filter(([name]) => mayUse(name as FilterName))
  const begun = names
    .filter(([, { token }]) => token.startsWith(text))
    .map(([name, { token, words, example }]) => ({
      text: name === 'params_path' ? 'params.' : `${token}:`,
      words: `${words}, as in ${example}`,
      isWhole: false,
    }))
  if (text === '') return begun
  const whole = [
    ...containing(known.types, text, 5).map((type) => `type:${type}`),
    ...containing(known.tags, text, 3).map((tag) => `tag:${tag}`),
    ...(known.tags.includes(text) ? [] : [`tag:${text}`]),
    ...(mayUse('error') ? [`error:${text}`] : []),
  ]
  return [...begun, ...whole.map((token) => ({ text: token, words: 'search', isWhole: true }))]
}

function completionsOf(token: string, value: string, known: Known, text: string): Suggestion[] {
  if (token === 'type') {
    const types = containing(known.types, value).map((type) => ({
      text: `type:${type}`,
      words: 'job type',
      isWhole: true,
    }))
    // Not every type is known here: there may be hundreds, and history has those that nobody handles any more.
    return types.length > 0 || value === '' ? types : [{ text, words: 'search', isWhole: true }]
  }
  if (namedKindOf(`${token}:`) !== null && !isId(value)) {
    return known.named
      .filter(({ name }) => name.toLowerCase().includes(value.toLowerCase()))
      .slice(0, SHOWN_MAX)
      .map(({ id, name }) => ({ text: `${token}:${id}`, words: name, isWhole: true }))
  }
  const tags = token === 'tag' ? containing(known.tags, value).filter((tag) => tag !== value) : []
  return [
    ...(value === '' && tags.length > 0 ? [] : [{ text, words: 'search', isWhole: true }]),
    ...tags.map((tag) => ({ text: `tag:${tag}`, words: 'tag', isWhole: true })),
  ]
}

/** What was typed as a whole comes first: Enter takes it, and not one that only contains it. */
export function containing(all: readonly string[], part: string, limit = SHOWN_MAX): string[] {
  const found = all.filter((one) => one.toLowerCase().includes(part.toLowerCase()))
  return [...found.filter((one) => one === part), ...found.filter((one) => one !== part)].slice(0, limit)
}
