import { signal } from '@preact/signals'

/** Every relative time on the page follows this one clock. */
export const now = signal(Date.now())
setInterval(() => {
  now.value = Date.now()
}, 1_000)

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** Two units at most: `3 min 20 s`, `840 ms`. */
export function durationWords(ms: number): string {
  if (!Number.isFinite(ms)) return '–'
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`
  const at = UNITS.findIndex(([, unitMs]) => ms >= unitMs)
  const [unit, unitMs] = UNITS[at] as (typeof UNITS)[number]
  const whole = Math.floor(ms / unitMs)
  const next = UNITS[at + 1]
  const rest = next === undefined ? 0 : Math.floor((ms % unitMs) / next[1])
  return rest === 0 || next === undefined ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${next[0]}`
}

/** One unit: `4 min ago`, `in 2 h`, `now`. */
function agoWords(at: number, from: number): string {
  const distance = Math.abs(from - at)
  if (distance < 1_000) return 'now'
  const [unit, unitMs] = UNITS.find(([, each]) => distance >= each) ?? UNITS[3]
  const text = `${Math.floor(distance / unitMs)} ${unit}`
  return at > from ? `in ${text}` : `${text} ago`
}

const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const SHORT = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})
const DAY = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' })
const CLOCK = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  hourCycle: 'h23',
})

export function fullTime(at: string): string {
  return FULL.format(new Date(at))
}

export function dayTime(at: string): string {
  return DAY.format(new Date(at))
}

export function clockTime(at: string): string {
  return CLOCK.format(new Date(at))
}

/** How long ago, with the instant itself for those who ask. */
export function Ago({ at }: { at: string | null | undefined }) {
  if (!at) return <span class="faint">–</span>
  return (
    <time dateTime={at} title={`${fullTime(at)}\n${at}`} class="nowrap">
      {agoWords(Date.parse(at), now.value)}
    </time>
  )
}

export function FullTime({ at }: { at: string | null | undefined }) {
  if (!at) return <span class="faint">–</span>
  return (
    <time dateTime={at} title={`${fullTime(at)}\n${at}`}>
      {SHORT.format(new Date(at))} <span class="faint nowrap">· {agoWords(Date.parse(at), now.value)}</span>
    </time>
  )
}

/** From one instant to another, or to now. */
export function Took({ from, to }: { from: string | null; to: string | null }) {
  if (from === null) return <span class="faint">–</span>
  return <span class="nowrap">{durationWords((to === null ? now.value : Date.parse(to)) - Date.parse(from))}</span>
}
