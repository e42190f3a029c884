import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { wordsOf } from '../api/http.ts'
import { Icon } from './icon.tsx'

interface Toast {
  readonly id: number
  readonly tone: 'good' | 'bad'
  readonly text: string
  readonly link?: { readonly href: string; readonly text: string }
}

const toasts = signal<readonly Toast[]>([])
let nextId = 1

export function say(text: string, options: { tone?: 'good' | 'bad'; link?: Toast['link'] } = {}): void {
  const { tone = 'good', link } = options
  const id = nextId++
  toasts.value = [...toasts.value.slice(-3), { id, tone, text, ...(link && { link }) }]
  // What went wrong stays until it was read.
  if (tone === 'good') setTimeout(() => dismiss(id), 6_000)
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id)
}

/** Does something and tells what came of it. Answers whether it was done. */
export async function attempt(act: () => Promise<unknown>, done?: string | (() => void)): Promise<boolean> {
  try {
    await act()
  } catch (error) {
    say(wordsOf(error), { tone: 'bad' })
    return false
  }
  if (typeof done === 'string') say(done)
  else done?.()
  return true
}

export function Toasts(): ComponentChildren {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, tone, text, link }) => (
        <div class={`toast ${tone}`} key={id}>
          <div class="grow">
            {text}
            {link && (
              <>
                {' '}
                <a href={link.href}>{link.text}</a>
              </>
            )}
          </div>
          <button type="button" class="button plain slim square" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  )
}
