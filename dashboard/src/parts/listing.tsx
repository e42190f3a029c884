import type { ComponentChildren } from 'preact'
import type { Live } from '../live/use-live.ts'
import { queryOf, setQuery } from '../route.ts'
import { CannotLoad, Loading } from './empty.tsx'
import { Icon } from './icon.tsx'

/** The first line of a page: what it is, and what can be done with it. */
export function PageHead({
  title,
  sub,
  children,
}: {
  title: ComponentChildren
  sub?: ComponentChildren
  children?: ComponentChildren
}) {
  return (
    <div class="page-head">
      <div class="stack tight">
        <h1>{title}</h1>
        {sub && <div class="sub">{sub}</div>}
      </div>
      {children && <div class="row">{children}</div>}
    </div>
  )
}

export function Card(props: {
  title?: ComponentChildren
  note?: ComponentChildren
  children: ComponentChildren
  label?: string
}) {
  const { title, note, children, label } = props
  return (
    <section class="card" aria-label={label ?? (typeof title === 'string' ? title : undefined)}>
      {title && (
        <div class="card-head">
          <h2>{title}</h2>
          {note && <div class="note">{note}</div>}
        </div>
      )}
      {children}
    </section>
  )
}

interface Page<Item> {
  readonly items: readonly Item[]
  readonly next_cursor: string | null
}

interface ListingProps<Item> {
  readonly live: Live<Page<Item>>
  readonly empty: ComponentChildren
  readonly children: (items: readonly Item[]) => ComponentChildren
  /** The name of the cursor in the address. */
  readonly cursor?: string
}

/** A list from the server: loading, not to be had, empty, or there, with the way to its next page. */
export function Listing<Item>({ live, empty, children, cursor = 'cursor' }: ListingProps<Item>) {
  const { data, problem } = live
  if (data === null) return problem ? <CannotLoad problem={problem} onRetry={live.reload} /> : <Loading />
  return (
    <>
      {problem && <Stale />}
      {data.items.length === 0 && queryOf(cursor) === '' && data.next_cursor === null ? empty : children(data.items)}
      <Pager name={cursor} count={data.items.length} next={data.next_cursor} />
    </>
  )
}

export function Stale() {
  return (
    <div class="selection tone-warn" role="status">
      <Icon name="warn" /> The server does not answer. This is what was known last.
    </div>
  )
}

function Pager({ name, count, next }: { name: string; count: number; next: string | null }) {
  const isLater = queryOf(name) !== ''
  if (!isLater && next === null) return null
  return (
    <div class="more">
      <span>{count} shown</span>
      <span class="row">
        {isLater && (
          <button type="button" class="button slim" onClick={() => setQuery({ [name]: null }, { push: true })}>
            First page
          </button>
        )}
        {next !== null && (
          <button type="button" class="button slim" onClick={() => setQuery({ [name]: next }, { push: true })}>
            Next page
            <Icon name="right" />
          </button>
        )}
      </span>
    </div>
  )
}
