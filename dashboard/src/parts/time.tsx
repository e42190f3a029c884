import { signal } from '@preact/signals'
import { durationWords, UNITS } from './duration-words.ts'

/** Every relative time on the page follows this one clock. */
export const now = signal(Date.now())
setInterval(() => {
  now.value = Date.now()
}, 1_000)

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
