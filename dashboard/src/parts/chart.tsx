import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { theme } from '../theme.ts'

export interface ChartSeries {
  readonly label: string
  /** A colour of the style sheet, such as `--good-mark`. */
  readonly colour: string
  readonly values: readonly number[]
}

interface ChartProps {
  readonly label: string
  /** Epoch seconds. */
  readonly times: readonly number[]
  /** The first stands at the bottom. */
  readonly series: readonly ChartSeries[]
}

const HEIGHT = 168

/** What a colour of the style sheet is in the present theme. A canvas knows no variables. */
function resolved(name: string, element: HTMLElement): string {
  element.style.color = `var(${name})`
  const { color } = getComputedStyle(element)
  element.style.color = ''
  return color
}

/** Bars upon each other: each series begins where the ones before it end. */
function stacked(series: readonly ChartSeries[]): number[][] {
  const sums: number[][] = []
  for (const { values } of series) {
    const below = sums.at(-1)
    sums.push(values.map((value, index) => value + (below?.[index] ?? 0)))
  }
  return sums
}

export function Chart({ label, times, series }: ChartProps) {
  const [at, setAt] = useState<number | null>(null)
  const box = useRef<HTMLDivElement>(null)
  const drawn = useRef<uPlot | null>(null)
  const shape = series.map((one) => one.label).join()
  const latest = useRef(series)
  latest.current = series
  const data = (): uPlot.AlignedData => [[...times], ...stacked(series).toReversed()] as uPlot.AlignedData

  useEffect(() => {
    const element = box.current
    if (element === null) return
    const draw = () => {
      drawn.current?.destroy()
      drawn.current = new uPlot(options(element, latest, setAt), data(), element)
    }
    draw()
    const sized = new ResizeObserver(() => drawn.current?.setSize({ width: element.clientWidth, height: HEIGHT }))
    sized.observe(element)
    const preferred = matchMedia('(prefers-color-scheme: dark)')
    preferred.addEventListener('change', draw)
    return () => {
      sized.disconnect()
      preferred.removeEventListener('change', draw)
      drawn.current?.destroy()
      drawn.current = null
    }
  }, [theme.value, shape])
  useEffect(() => {
    drawn.current?.setData(data())
  }, [times, series])
  return (
    <>
      <div class="chart" ref={box} role="img" aria-label={label} />
      <div class="chart-tip">{at === null ? '' : pointWords(times[at], series, at)}</div>
    </>
  )
}

/** What the bar under the mouse says, topmost first. */
function pointWords(time: number | undefined, series: readonly ChartSeries[], at: number): string {
  if (time === undefined) return ''
  const words = series.toReversed().map((one) => `${(one.values[at] ?? 0).toLocaleString('en')} ${one.label}`)
  return `${clock(time)} · ${words.join(', ')}`
}

function options(
  element: HTMLElement,
  latest: { readonly current: readonly ChartSeries[] },
  onPoint: (index: number | null) => void,
): uPlot.Options {
  const text = resolved('--faint', element)
  const line = resolved('--line', element)
  const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: '11px system-ui' }
  const bars = uPlot.paths.bars?.({ size: [0.8, 40], align: 0 })
  const { current } = latest
  return {
    width: element.clientWidth || 300,
    height: HEIGHT,
    padding: [8, 20, 0, 0],
    cursor: { drag: { x: false, y: false }, points: { show: false } },
    legend: { show: false },
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)] },
    scales: {
      x: { range: (_plot, min, max) => halfABarMore(min, max, latest.current[0]?.values.length ?? 2) },
      y: { range: (_plot, _min, max) => [0, Math.max(4, Math.ceil(max * 1.1))] },
    },
    axes: [
      { ...axis, size: 26, gap: 6, grid: { show: false }, values: (_plot, splits) => splits.map(clock), space: 64 },
      {
        ...axis,
        size: 44,
        space: 34,
        values: (_plot, splits) => splits.map((value) => (Number.isInteger(value) ? value.toLocaleString('en') : '')),
      },
    ],
    series: [
      {},
      ...current.toReversed().map((one): uPlot.Series => {
        const colour = resolved(one.colour, element)
        return {
          label: one.label,
          fill: colour,
          stroke: colour,
          width: 0,
          points: { show: false },
          ...(bars && { paths: bars }),
        }
      }),
    ],
  }
}

/** So that the first and the last bar are whole. */
function halfABarMore(min: number, max: number, count: number): [number, number] {
  const half = (max - min) / Math.max(1, count - 1) / 2
  return [min - half, max + half]
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })

function clock(seconds: number): string {
  return CLOCK.format(new Date(seconds * 1_000))
}
