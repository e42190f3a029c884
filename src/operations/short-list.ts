import { invalid, refuseUnknownKeys } from '../domain/options.ts'
import type { Page } from '../store/jobs.ts'
import { type PageOptions, readLimit } from './read-history.ts'

/**
 * A page of a list that is short enough to be read whole: of types, limits, nodes. In the order of the keys, which no two
 * items share; a cursor is the key of the last item before, so that what comes and goes meanwhile shifts nothing.
 */
export function pageOfShort<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  options: PageOptions = {},
): Page<Item> {
  refuseUnknownKeys(options, ['limit', 'cursor'], '')
  const limit = readLimit(options.limit)
  const after = readKey(options.cursor ?? null)
  const ordered = items.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  const rest = after === null ? ordered : ordered.filter((item) => keyOf(item) > after)
  const page = rest.slice(0, limit)
  const last = page[page.length - 1]
  return { items: page, nextCursor: last === undefined || rest.length <= limit ? null : cursorAfter(keyOf(last)) }
}

const MARK = 'after '

function cursorAfter(key: string): string {
  return Buffer.from(`${MARK}${key}`).toString('base64url')
}

function readKey(cursor: unknown): string | null {
  if (cursor === null) return null
  const text = typeof cursor === 'string' ? Buffer.from(cursor, 'base64url').toString() : ''
  if (text.startsWith(MARK)) return text.slice(MARK.length)
  throw invalid('cursor', 'as the page before answered it', cursor)
}
