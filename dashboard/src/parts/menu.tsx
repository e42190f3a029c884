import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Icon, type IconName } from './icon.tsx'

/** A button with choices under it. It closes by Escape and by a click elsewhere. */
export function Menu({ label, icon, children }: { label: string; icon: IconName; children: ComponentChildren }) {
  const element = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    const onClick = (event: MouseEvent) => {
      const menu = element.current
      if (menu?.open && !menu.contains(event.target as Node)) menu.open = false
    }
    document.addEventListener('click', onClick)
    return () => document.removeEventListener('click', onClick)
  }, [])
  return (
    <details
      class="menu"
      ref={element}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || element.current === null) return
        element.current.open = false
        element.current.querySelector('summary')?.focus()
      }}
    >
      <summary class="button">
        <Icon name={icon} /> {label}
      </summary>
      <div class="menu-body">{children}</div>
    </details>
  )
}
