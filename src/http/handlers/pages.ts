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

/** A list that is always whole. */
export function okAll<Item, Wire>(items: readonly Item[], render: (item: Item) => Wire) {
  return okPage({ items, nextCursor: null }, render)
}
