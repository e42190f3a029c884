import { pageOfShort } from '../../operations/short-list.ts'
import type { Page } from '../../store/jobs.ts'
import { ok } from './answer.ts'

/** The part of a query that every list has, in the words of the operations. */
export function pageOptions(query: { readonly limit?: number | undefined; readonly cursor?: string | undefined }) {
  return {
    ...(query.limit !== undefined && { limit: query.limit }),
    ...(query.cursor !== undefined && { cursor: query.cursor }),
  }
}

/** A page as the API answers it. */
export function okPage<Item, Wire>({ items, nextCursor }: Page<Item>, render: (item: Item) => Wire) {
  return ok({ items: items.map(render), next_cursor: nextCursor })
}

/** A page of a list that is read whole. */
export function okShort<Item, Wire>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  query: Parameters<typeof pageOptions>[0],
  render: (item: Item) => Wire,
) {
  return okPage(pageOfShort(items, keyOf, pageOptions(query)), render)
}
