import { signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const STORED_AS = 'pawl-theme'

function stored(): Theme {
  try {
    const value = localStorage.getItem(STORED_AS)
    return value === 'light' || value === 'dark' ? value : 'system'
  } catch {
    return 'system'
  }
}

export const theme = signal<Theme>(stored())

theme.subscribe((value) => {
  if (value === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = value
})

export function setTheme(value: Theme): void {
  theme.value = value
  try {
    if (value === 'system') localStorage.removeItem(STORED_AS)
    else localStorage.setItem(STORED_AS, value)
  } catch {
    // A browser that keeps nothing shows the system's theme next time.
  }
}
