import { place } from '../route.ts'

/** What jobs can be searched by: the name in the address is the name in the API. */
export const FILTERS = {
  type: { token: 'type', words: 'job type', example: 'type:email.send' },
  tag: { token: 'tag', words: 'tag', example: 'tag:nightly' },
  template_id: { token: 'template', words: 'template id', example: 'template:0198…' },
  schedule_id: { token: 'schedule', words: 'schedule id', example: 'schedule:0198…' },
  group_id: { token: 'group', words: 'group id', example: 'group:0198…' },
  params_path: { token: 'params', words: 'a place in the params', example: 'params.user.id:42' },
  error: { token: 'error', words: 'text in the error', example: 'error:timeout' },
  created_after: { token: 'after', words: 'accepted after', example: 'after:2h' },
  created_before: { token: 'before', words: 'accepted before', example: 'before:2026-11-16' },
} as const

export type FilterName = keyof typeof FILTERS

export const TABS = [
  ['all', 'All'],
  ['queued', 'Queued'],
  ['running', 'Running'],
  ['completed', 'Completed'],
  ['failed', 'Failed'],
  ['skipped', 'Skipped'],
  ['cancelled', 'Cancelled'],
] as const

export type Tab = (typeof TABS)[number][0]

const TAB_QUERIES: Readonly<Record<Tab, Readonly<Record<string, string>>>> = {
  all: {},
  queued: { status: 'QUEUED' },
  running: { status: 'RUNNING' },
  completed: { status: 'FINISHED', outcome: 'COMPLETED' },
  failed: { status: 'FINISHED', outcome: 'FAILED' },
  skipped: { status: 'FINISHED', outcome: 'SKIPPED' },
  cancelled: { status: 'CANCELLED' },
}

export function tabOf(text: string): Tab {
  return TABS.find(([name]) => name === text)?.[0] ?? 'all'
}

/** The filters of the address, without the tab. */
export function filtersOf(query: URLSearchParams): Readonly<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const name of [...Object.keys(FILTERS), 'params_value']) {
    const value = query.get(name)
    if (value) found[name] = value
  }
  return found
}

/** The whole question, for lists and for bulk operations alike. */
export function questionOf(query: URLSearchParams): Readonly<Record<string, string>> {
  return { ...TAB_QUERIES[tabOf(query.get('tab') ?? 'all')], ...filtersOf(query) }
}

export function hasFilters(): boolean {
  return Object.keys(filtersOf(place.value.query)).length > 0
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 }

/** `2h` ago, or a date: of the viewer's zone, unless it names one. Null: neither. */
function instantOf(text: string, nowMs: number): string | null {
  const ago = /^(\d+)\s*(s|m|min|h|d)$/.exec(text)
  if (ago) return new Date(nowMs - Number(ago[1]) * (UNITS_MS[ago[2] as string] as number)).toISOString()
  // A date alone would be read as one of UTC.
  const at = Date.parse(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00` : text)
  return Number.isNaN(at) ? null : new Date(at).toISOString()
}

export type ReadToken =
  | { readonly kind: 'filters'; readonly changes: Readonly<Record<string, string>> }
  | { readonly kind: 'wrong'; readonly words: string }

/** What a typed token such as `tag:nightly` or `params.user.id:42` means. */
export function readToken(text: string, nowMs: number): ReadToken {
  const colon = text.indexOf(':')
  const name = (colon === -1 ? text : text.slice(0, colon)).trim()
  const value =
    colon === -1
      ? ''
      : text
          .slice(colon + 1)
          .trim()
          .replace(/^"(.*)"$/, '$1')
  if (name.startsWith('params.') && name.length > 7) {
    return { kind: 'filters', changes: { params_path: name.slice(7), params_value: value } }
  }
  const filter = Object.entries(FILTERS).find(([, { token }]) => token === name)?.[0] as FilterName | undefined
  if (filter === undefined || filter === 'params_path') {
    return { kind: 'wrong', words: `Nothing can be searched by "${name}". Try type:, tag:, error: or params.path:` }
  }
  if (value === '') return { kind: 'wrong', words: `Say what after "${name}:", as in ${FILTERS[filter].example}` }
  if (filter === 'created_after' || filter === 'created_before') {
    const at = instantOf(value, nowMs)
    if (at === null) return { kind: 'wrong', words: `Expected a time such as 2h or 2026-11-16, got "${value}"` }
    return { kind: 'filters', changes: { [filter]: at } }
  }
  return { kind: 'filters', changes: { [filter]: value } }
}
