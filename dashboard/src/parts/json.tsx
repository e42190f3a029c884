import type { ComponentChildren } from 'preact'
import { exactNumber, printExact } from '../api/exact-json.ts'
import { Copy } from './copy.tsx'
import { Icon } from './icon.tsx'

const TOKENS = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b/g

/** Texts with colours, made of elements: nothing stored is ever read as markup. */
function coloured(text: string): ComponentChildren[] {
  const parts: ComponentChildren[] = []
  let end = 0
  for (const match of text.matchAll(TOKENS)) {
    const [whole, string, colon, number] = match
    if (match.index > end) parts.push(text.slice(end, match.index))
    const kind =
      string === undefined ? (number === undefined ? 'j-lit' : 'j-num') : colon === undefined ? 'j-str' : 'j-key'
    parts.push(
      <span class={kind} key={match.index}>
        {string ?? whole}
      </span>,
    )
    if (colon !== undefined) parts.push(colon)
    end = match.index + whole.length
  }
  parts.push(text.slice(end))
  return parts
}

/** Longer texts are shown without colours: ten thousand elements help nobody. */
const COLOURED_MAX = 20_000

export function Redacted({ what = 'Hidden: your key may not see payloads' }: { what?: string }) {
  return (
    <span class="redacted">
      <Icon name="lock" />
      {what}
    </span>
  )
}

export function Json({
  value,
  what,
  redacted = false,
}: {
  value: unknown
  what: string
  redacted?: boolean | undefined
}) {
  if (redacted) return <Redacted />
  if (value === undefined) return <span class="faint">none</span>
  const text = exactNumber(value) ?? printExact(value)
  return (
    <div class="code">
      <pre tabIndex={0} role="region" aria-label={what}>
        {text.length > COLOURED_MAX ? text : coloured(text)}
      </pre>
      <Copy text={text} what={what} />
    </div>
  )
}

export function Text({ value, what }: { value: string; what: string }) {
  return (
    <div class="code">
      <pre tabIndex={0} role="region" aria-label={what}>
        {value}
      </pre>
      <Copy text={value} what={what} />
    </div>
  )
}
