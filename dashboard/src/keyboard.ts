import { signal } from '@preact/signals'
import { go, href } from './route.ts'

/** What the list on the page can be told to do. */
export interface RowControls {
  next(): void
  previous(): void
  open(): void
  toggle(): void
  moveDown?(): void
  moveUp?(): void
  clear(): void
}

let rows: RowControls | null = null

export function controlRows(controls: RowControls): () => void {
  rows = controls
  return () => {
    if (rows === controls) rows = null
  }
}

export const openPanel = signal<'palette' | 'help' | null>(null)

/** After `g`, the next key says where to. */
export const JUMPS: Readonly<Record<string, readonly [page: string, title: string]>> = {
  o: ['', 'Overview'],
  j: ['jobs', 'Jobs'],
  g: ['groups', 'Groups'],
  d: ['direct', 'Direct'],
  s: ['schedules', 'Schedules'],
  t: ['templates', 'Templates'],
  w: ['webhooks', 'Webhooks'],
  n: ['nodes', 'Nodes'],
  p: ['operations', 'Operations'],
  a: ['audit', 'Audit'],
  k: ['keys', 'Keys'],
}

const JUMP_WITHIN_MS = 1_500
let jumpUntil = 0

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
}

function onKey(event: KeyboardEvent): void {
  if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
    event.preventDefault()
    openPanel.value = openPanel.value === 'palette' ? null : 'palette'
    return
  }
  if (event.metaKey || event.ctrlKey || event.altKey) return
  if (document.querySelector('dialog[open]') !== null) return
  if (isTyping(event.target) && (event.target as HTMLInputElement).type !== 'checkbox') return
  if (performance.now() < jumpUntil) {
    jumpUntil = 0
    const jump = JUMPS[event.key]
    if (jump) {
      event.preventDefault()
      go(href(...(jump[0] === '' ? [] : [jump[0]])))
    }
    return
  }
  if (act(event)) event.preventDefault()
}

function act(event: KeyboardEvent): boolean {
  switch (event.key) {
    case 'g':
      jumpUntil = performance.now() + JUMP_WITHIN_MS
      return true
    case '/': {
      const search = document.querySelector<HTMLInputElement>('[data-search]')
      if (search) search.focus()
      else openPanel.value = 'palette'
      return true
    }
    case '?':
      openPanel.value = 'help'
      return true
    case 'j':
      rows?.next()
      return rows !== null
    case 'k':
      rows?.previous()
      return rows !== null
    case 'x':
      rows?.toggle()
      return rows !== null
    case 'J':
      rows?.moveDown?.()
      return rows !== null
    case 'K':
      rows?.moveUp?.()
      return rows !== null
    case 'Escape':
      rows?.clear()
      return false
    case 'Enter':
      if (event.target !== document.body || rows === null) return false
      rows.open()
      return true
    default:
      return false
  }
}

export function listenToKeys(): void {
  document.addEventListener('keydown', onKey)
}
