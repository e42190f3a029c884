import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { mayAdminister } from '../api/session.ts'
import { JUMPS, openPanel } from '../keyboard.ts'
import { useTypes } from '../live/use-types.ts'
import { go, href, hrefWith } from '../route.ts'
import { setTheme } from '../theme.ts'
import { Dialog } from './dialog.tsx'
import { Icon, type IconName } from './icon.tsx'
import { containing } from './search-suggestions.ts'

interface Entry {
  readonly title: string
  readonly note: string
  readonly icon: IconName
  readonly act: () => void
}

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

function entries(): Entry[] {
  const pages = Object.entries(JUMPS).filter(([, [page]]) => page !== 'keys' || mayAdminister.value)
  return [
    ...pages.map(([key, [page, title]]): Entry => {
      const icon = (page === '' ? 'overview' : page) as IconName
      return { title, note: `g ${key}`, icon, act: () => go(href(...(page === '' ? [] : [page]))) }
    }),
    { title: 'Failed jobs', note: 'Jobs', icon: 'cross', act: () => go(hrefWith(['jobs'], { tab: 'failed' })) },
    { title: 'Running jobs', note: 'Jobs', icon: 'turn', act: () => go(hrefWith(['jobs'], { tab: 'running' })) },
    { title: 'The queue, in order', note: 'Jobs', icon: 'jobs', act: () => go(hrefWith(['jobs'], { tab: 'queued' })) },
    { title: 'Light theme', note: 'Theme', icon: 'sun', act: () => setTheme('light') },
    { title: 'Dark theme', note: 'Theme', icon: 'moon', act: () => setTheme('dark') },
    { title: "The system's theme", note: 'Theme', icon: 'system', act: () => setTheme('system') },
    {
      title: 'Keyboard shortcuts',
      note: '?',
      icon: 'info',
      act: () => {
        openPanel.value = 'help'
      },
    },
  ]
}

/** So many types are offered for what was typed. */
const TYPES_SHOWN_MAX = 5

function ofType(type: string): Entry {
  return { title: `Jobs of type ${type}`, note: 'Search', icon: 'search', act: () => go(hrefWith(['jobs'], { type })) }
}

function matching(text: string, types: readonly string[]): Entry[] {
  const wanted = text.trim().toLowerCase()
  const found = entries().filter(({ title, note }) => `${title} ${note}`.toLowerCase().includes(wanted))
  if (wanted === '') return found
  if (ID.test(wanted)) {
    found.unshift({ title: `Job ${wanted}`, note: 'Open', icon: 'jobs', act: () => go(href('jobs', wanted)) })
  } else {
    const typed = text.trim()
    const known = containing(types, typed, TYPES_SHOWN_MAX)
    found.push(
      // One that is not known may be of the past.
      ...(known.length > 0 ? known : [typed]).map(ofType),
      {
        title: `Jobs tagged ${typed}`,
        note: 'Search',
        icon: 'search',
        act: () => go(hrefWith(['jobs'], { tag: typed })),
      },
    )
  }
  return found
}

export function Palette() {
  // Signals and not states: a key that follows another before the page was drawn again must find what the first one did.
  const text = useSignal('')
  const at = useSignal(0)
  const types = (useTypes() ?? []).map(({ type }) => type)
  const found = () => matching(text.value, types)
  const close = () => {
    openPanel.value = null
  }
  const choose = (entry: Entry | undefined) => {
    if (!entry) return
    close()
    entry.act()
  }
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => input.current?.focus(), [])
  return (
    <Dialog title="Go to" onClose={close}>
      <div class="palette">
        <input
          ref={input}
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={`palette-${at.value}`}
          aria-label="Page, job id, type or tag"
          placeholder="Page, job id, type or tag…"
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value
            at.value = 0
          }}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown') at.value = Math.min(at.value + 1, found().length - 1)
            else if (event.key === 'ArrowUp') at.value = Math.max(at.value - 1, 0)
            else if (event.key === 'Enter') choose(found()[at.value])
            else return
            event.preventDefault()
          }}
        />
        <ul id="palette-list" role="listbox" aria-label="Found">
          {found().map((entry, index) => (
            <li
              id={`palette-${index}`}
              key={entry.title}
              role="option"
              aria-selected={index === at.value}
              onMouseMove={() => {
                at.value = index
              }}
              onClick={() => choose(entry)}
            >
              <Icon name={entry.icon} />
              <span class="clip">{entry.title}</span>
              <span class="note">{entry.note}</span>
            </li>
          ))}
        </ul>
      </div>
    </Dialog>
  )
}

const KEYS: readonly (readonly [string, string])[] = [
  ['/', 'Search'],
  ['Ctrl K', 'Go to anything (⌘ K on a Mac)'],
  ['j', 'Next row'],
  ['k', 'Previous row'],
  ['Enter', 'Open the row'],
  ['x', 'Select the row'],
  ['J', 'Move the row down in the queue'],
  ['K', 'Move the row up in the queue'],
  ['Esc', 'Clear the selection, close a dialog'],
  ['?', 'This list'],
]

export function Help() {
  const close = () => {
    openPanel.value = null
  }
  return (
    <Dialog title="Keyboard shortcuts" onClose={close}>
      <div class="dialog-body pair">
        <dl class="keys">
          {KEYS.map(([key, words]) => (
            <>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{words}</dd>
            </>
          ))}
        </dl>
        <dl class="keys">
          {Object.entries(JUMPS).map(([key, [, title]]) => (
            <>
              <dt>
                <kbd>g</kbd> <kbd>{key}</kbd>
              </dt>
              <dd>{title}</dd>
            </>
          ))}
        </dl>
      </div>
    </Dialog>
  )
}
