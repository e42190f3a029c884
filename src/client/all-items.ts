interface ListPage {
  readonly items: readonly unknown[]
  readonly next_cursor: string | null
}

type List = (query: never) => Promise<ListPage>
type QueryOfList<Asked extends List> = Omit<NonNullable<Parameters<Asked>[0]>, 'cursor'>
type ItemOf<Asked extends List> = Awaited<ReturnType<Asked>>['items'][number]

/** All items of a list, page after page, as they are asked for. */
export async function* allItems<Asked extends List>(
  list: Asked,
  query?: QueryOfList<Asked>,
): AsyncGenerator<ItemOf<Asked>, void, undefined> {
  let cursor: string | null = null
  do {
    const page: ListPage = await list({ ...query, ...(cursor !== null && { cursor }) } as never)
    yield* page.items as ItemOf<Asked>[]
    cursor = page.next_cursor
  } while (cursor !== null)
}
