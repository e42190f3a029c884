import type { Look } from './state.tsx'

export interface Box {
  readonly id: string
  readonly title: string
  readonly under: string
  readonly look: Look
  readonly href: string
  readonly isHere?: boolean
}

export type Edge = readonly [from: string, to: string]

const WIDTH = 210
const HEIGHT = 44
const GAP_X = 56
const GAP_Y = 12
/** More boxes than this are no picture any more. */
const BOXES_MAX = 200

interface Spot {
  readonly box: Box
  readonly x: number
  readonly y: number
}

/** Each box stands one column behind its last parent. */
function layOut(boxes: readonly Box[], edges: readonly Edge[]): Map<string, Spot> {
  const parents = new Map<string, string[]>()
  for (const [from, to] of edges) parents.set(to, [...(parents.get(to) ?? []), from])
  const depths = new Map<string, number>()
  const depthOf = (id: string, path: ReadonlySet<string>): number => {
    const known = depths.get(id)
    if (known !== undefined) return known
    if (path.has(id)) return 0
    const before = parents.get(id) ?? []
    const depth =
      before.length === 0 ? 0 : 1 + Math.max(...before.map((parent) => depthOf(parent, new Set([...path, id]))))
    depths.set(id, depth)
    return depth
  }
  const filled = new Map<number, number>()
  const spots = new Map<string, Spot>()
  for (const box of boxes) {
    const depth = depthOf(box.id, new Set())
    const index = filled.get(depth) ?? 0
    filled.set(depth, index + 1)
    spots.set(box.id, { box, x: depth * (WIDTH + GAP_X), y: index * (HEIGHT + GAP_Y) })
  }
  return spots
}

/** Jobs and what waits for what. Also a list for those who cannot see it: every box is a link with its state in words. */
export function Graph({ boxes, edges }: { boxes: readonly Box[]; edges: readonly Edge[] }) {
  const shown = [...new Map(boxes.slice(0, BOXES_MAX).map((box) => [box.id, box])).values()]
  const spots = layOut(shown, edges)
  const width = Math.max(...[...spots.values()].map(({ x }) => x)) + WIDTH + 2
  const height = Math.max(...[...spots.values()].map(({ y }) => y)) + HEIGHT + 2
  return (
    <div class="graph" tabIndex={0} role="region" aria-label="Dependency graph">
      <svg width={width} height={height} viewBox={`-1 -1 ${width} ${height}`}>
        {edges.map(([from, to]) => {
          const [a, b] = [spots.get(from), spots.get(to)]
          if (!a || !b) return null
          const [x1, y1, x2, y2] = [a.x + WIDTH, a.y + HEIGHT / 2, b.x, b.y + HEIGHT / 2]
          const bend = (x1 + x2) / 2
          return <path class="edge" d={`M${x1} ${y1} C${bend} ${y1} ${bend} ${y2} ${x2} ${y2}`} key={`${from} ${to}`} />
        })}
        {[...spots.values()].map(({ box, x, y }) => (
          <a href={box.href} key={box.id}>
            <g class={box.isHere ? 'box here' : 'box'} transform={`translate(${x} ${y})`}>
              <rect width={WIDTH} height={HEIGHT} rx="6" />
              <rect class={`tick ${box.look.tone}`} width="4" height={HEIGHT - 12} x="6" y="6" rx="2" />
              <text x="18" y="19">
                {cut(box.title, 24)}
              </text>
              <text class="under" x="18" y="35">
                {cut(`${box.look.word} · ${box.under}`, 30)}
              </text>
            </g>
          </a>
        ))}
      </svg>
      {boxes.length > BOXES_MAX && <p class="faint small">The first {BOXES_MAX} of them.</p>}
    </div>
  )
}

function cut(text: string, length: number): string {
  const characters = Array.from(text)
  return characters.length > length ? `${characters.slice(0, length - 1).join('')}…` : text
}
