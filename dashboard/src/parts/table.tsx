import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { controlRows } from '../keyboard.ts'
import { go } from '../route.ts'
import { Icon } from './icon.tsx'

export interface Column<Row> {
  readonly key: string
  readonly head: string
  readonly cell: (row: Row) => ComponentChildren
  readonly class?: string
}

/** Which rows are chosen. */
export interface Selection {
  readonly ids: ReadonlySet<string>
  readonly set: (ids: ReadonlySet<string>) => void
}

interface TableProps<Row> {
  readonly label: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly nameOf: (row: Row) => string
  readonly hrefOf?: (row: Row) => string
  readonly selection?: Selection | undefined
  /** Puts a row before or after another. */
  readonly onMove?: ((row: Row, side: 'before' | 'after', other: Row) => void) | undefined
}

export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows, keyOf, nameOf, selection, onMove } = props
  const [at, setAt] = useState<string | null>(null)
  const [over, setOver] = useState<string | null>(null)
  const dragged = useRef<Row | null>(null)
  const latest = useRef({ props, at })
  latest.current = { props, at }

  useEffect(() => controlRows(controlsOf(() => latest.current, setAt)), [])

  const toggle = (id: string) => {
    if (!selection) return
    const ids = new Set(selection.ids)
    if (!ids.delete(id)) ids.add(id)
    selection.set(ids)
  }
  const step = (row: Row, by: 1 | -1) => {
    const index = rows.indexOf(row)
    const other = rows[index + by]
    if (other !== undefined) onMove?.(row, by === 1 ? 'after' : 'before', other)
  }
  const areAllChosen = rows.length > 0 && rows.every((row) => selection?.ids.has(keyOf(row)))
  return (
    <div class="table-wrap">
      <table class="table" role="table" aria-label={label}>
        <thead role="rowgroup">
          <tr role="row">
            {onMove && (
              <th role="columnheader" class="grip">
                <span class="hidden">Move</span>
              </th>
            )}
            {selection && (
              <th role="columnheader" class="pick">
                <input
                  type="checkbox"
                  aria-label="Select all on this page"
                  checked={areAllChosen}
                  onChange={() => selection.set(areAllChosen ? new Set() : new Set(rows.map(keyOf)))}
                />
              </th>
            )}
            {columns.map((column) => (
              <th role="columnheader" key={column.key} class={column.class} scope="col">
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => {
            const id = keyOf(row)
            return (
              <tr
                role="row"
                key={id}
                data-row={id}
                class={`${id === at ? 'at' : ''} ${id === over ? 'over' : ''}`}
                aria-selected={selection ? selection.ids.has(id) : undefined}
                onDragOver={(event) => {
                  if (dragged.current === null || dragged.current === row) return
                  event.preventDefault()
                  setOver(id)
                }}
                onDrop={(event) => {
                  event.preventDefault()
                  setOver(null)
                  const from = dragged.current
                  dragged.current = null
                  if (from !== null && from !== row) {
                    onMove?.(from, rows.indexOf(from) < rows.indexOf(row) ? 'after' : 'before', row)
                  }
                }}
              >
                {onMove && (
                  <td role="cell" class="grip side-cell">
                    <button
                      type="button"
                      class="button plain slim square"
                      draggable
                      aria-label={`Move ${nameOf(row)}: arrow keys, or drag`}
                      title="Drag, or use the arrow keys"
                      onDragStart={(event) => {
                        dragged.current = row
                        event.dataTransfer?.setData('text/plain', id)
                      }}
                      onDragEnd={() => {
                        dragged.current = null
                        setOver(null)
                      }}
                      onKeyDown={(event) => {
                        if (event.key !== 'ArrowUp' && event.key !== 'ArrowDown') return
                        event.preventDefault()
                        step(row, event.key === 'ArrowDown' ? 1 : -1)
                      }}
                    >
                      <Icon name="grip" />
                    </button>
                  </td>
                )}
                {selection && (
                  <td role="cell" class="pick side-cell">
                    <input
                      type="checkbox"
                      aria-label={`Select ${nameOf(row)}`}
                      checked={selection.ids.has(id)}
                      onChange={() => toggle(id)}
                    />
                  </td>
                )}
                {columns.map((column) => (
                  <td role="cell" key={column.key} class={column.class} data-label={column.head || undefined}>
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

function controlsOf<Row>(
  latest: () => { readonly props: TableProps<Row>; readonly at: string | null },
  setAt: (id: string | null) => void,
) {
  const current = () => {
    const { props, at } = latest()
    return { props, index: props.rows.findIndex((row) => props.keyOf(row) === at) }
  }
  const goTo = (index: number) => {
    const { props } = current()
    const row = props.rows[Math.max(0, Math.min(index, props.rows.length - 1))]
    if (row === undefined) return
    const id = props.keyOf(row)
    setAt(id)
    document.querySelector(`[data-row="${CSS.escape(id)}"]`)?.scrollIntoView({ block: 'nearest' })
  }
  const move = (by: 1 | -1) => {
    const { props, index } = current()
    const [row, other] = [props.rows[index], props.rows[index + by]]
    if (row !== undefined && other !== undefined) props.onMove?.(row, by === 1 ? 'after' : 'before', other)
  }
  return {
    next: () => goTo(current().index + 1),
    previous: () => goTo(current().index - 1),
    open: () => {
      const { props, index } = current()
      const row = props.rows[index]
      if (row !== undefined && props.hrefOf) go(props.hrefOf(row))
    },
    toggle: () => {
      const { props, index } = current()
      const row = props.rows[index]
      if (row === undefined || !props.selection) return
      const ids = new Set(props.selection.ids)
      const id = props.keyOf(row)
      if (!ids.delete(id)) ids.add(id)
      props.selection.set(ids)
    },
    moveDown: () => move(1),
    moveUp: () => move(-1),
    clear: () => current().props.selection?.set(new Set()),
  }
}
