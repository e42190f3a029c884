import { computed, signal } from '@preact/signals'

/** Where we are, below the path that the page is served under. */
export interface Place {
  /** Such as `['jobs', '<id>']`. */
  readonly parts: readonly string[]
  readonly query: URLSearchParams
}

const base = new URL('.', document.baseURI).pathname

function read(): Place {
  const { pathname, search } = window.location
  const below = pathname.startsWith(base) ? pathname.slice(base.length) : ''
  return { parts: below.split('/').filter(Boolean).map(decode), query: new URLSearchParams(search) }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export const place = signal<Place>(read())
export const page = computed(() => place.value.parts[0] ?? '')

/** The address of a page of ours: `href('jobs', id)`. */
export function href(...parts: readonly string[]): string {
  return `${base}${parts.map(encodeURIComponent).join('/')}`
}

export function hrefWith(parts: readonly string[], query: Readonly<Record<string, string | null | undefined>>): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value) search.set(name, value)
  return `${href(...parts)}${search.size === 0 ? '' : `?${search}`}`
}

export function go(address: string): void {
  if (new URL(address, window.location.href).href !== window.location.href) history.pushState(null, '', address)
  place.value = read()
  window.scrollTo(0, 0)
}

/** Changes what the address says of filters; such a change makes no step in the history unless told. */
export function setQuery(changes: Readonly<Record<string, string | null>>, options: { push?: boolean } = {}): void {
  const url = new URL(window.location.href)
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') url.searchParams.delete(name)
    else url.searchParams.set(name, value)
  }
  if (url.href === window.location.href) return
  if (options.push) history.pushState(null, '', url.href)
  else history.replaceState(null, '', url.href)
  place.value = read()
}

export function queryOf(name: string): string {
  return place.value.query.get(name) ?? ''
}

/** Lets links of ours change the place without loading the page anew. */
export function followLinks(): void {
  window.addEventListener('popstate', () => {
    place.value = read()
  })
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return
    const link = (event.target as Element | null)?.closest?.('a')
    if (!link || link.target || link.hasAttribute('download') || link.origin !== window.location.origin) return
    if (!link.pathname.startsWith(base) || link.dataset['outside'] !== undefined) return
    event.preventDefault()
    go(link.href)
  })
}
