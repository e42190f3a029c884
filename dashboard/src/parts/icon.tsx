/** Drawn on a grid of 24. One weight, one corner: they belong together. */
const PATHS = {
  overview: 'M4 13h6V4H4zM14 20h6V4h-6zM4 20h6v-4H4z',
  jobs: 'M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01',
  groups: 'M5 4h5v5H5zM14 4h5v5h-5zM9.5 15h5v5h-5zM7.5 9v3h9V9M12 12v3',
  direct: 'M13 3 5 14h6l-1 7 8-11h-6z',
  schedules: 'M12 7v5l3 2M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z',
  templates: 'M6 3h9l4 4v14H6zM15 3v4h4M9 12h7M9 16h7',
  webhooks: 'M8.5 11.5 12 6a3 3 0 1 1 2.5 4M15 13l3 5a3 3 0 1 1-4.3 2H9a3 3 0 1 1-3.5-4',
  nodes: 'M4 5h16v5H4zM4 14h16v5H4zM8 7.5h.01M8 16.5h.01',
  audit: 'M4 5h16M4 10h10M4 15h7M15 17l2 2 4-5',
  keys: 'M14.5 9.5a4.5 4.5 0 1 0-4 6.6l1.5-1.6H14v-2h2l1-1M20 4l-6 6',
  operations: 'M4 7h10M18 7h2M4 17h4M12 17h8M16 5v4M10 15v4',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM20 20l-4-4',
  menu: 'M4 7h16M4 12h16M4 17h16',
  close: 'M6 6l12 12M18 6 6 18',
  copy: 'M9 9h10v10H9zM5 15V5h10',
  check: 'M5 12.5 10 17 19 7',
  cross: 'M7 7l10 10M17 7 7 17',
  ring: 'M12 19a7 7 0 1 0 0-14 7 7 0 0 0 0 14z',
  clock: 'M12 8v4l2.5 2M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16z',
  turn: 'M20 12a8 8 0 1 1-3-6.2',
  slash: 'M6.3 17.7 17.7 6.3M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16z',
  skip: 'M6 6l8 6-8 6zM18 6v12',
  pause: 'M8 6v12M16 6v12',
  link: 'M10 14 14 10M9 7l1-1a4 4 0 0 1 6 6l-1 1M15 17l-1 1a4 4 0 0 1-6-6l1-1',
  warn: 'M12 4 3 19h18zM12 10v4M12 17h.01',
  info: 'M12 11v5M12 8h.01M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16z',
  play: 'M7 5l12 7-12 7z',
  retry: 'M4 12a8 8 0 1 1 2.5 5.8M4 19v-5h5',
  sun: 'M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6 7 7M17 17l1.4 1.4M18.4 5.6 17 7M7 17l-1.4 1.4',
  moon: 'M20 14.5A8 8 0 0 1 9.5 4a8 8 0 1 0 10.5 10.5z',
  system: 'M4 5h16v11H4zM9 20h6M12 16v4',
  lock: 'M6 11h12v9H6zM9 11V8a3 3 0 0 1 6 0v3',
  grip: 'M9 6h.01M15 6h.01M9 12h.01M15 12h.01M9 18h.01M15 18h.01',
  columns: 'M4 5h16v14H4zM10 5v14M15 5v14',
  plus: 'M12 5v14M5 12h14',
  right: 'M9 6l6 6-6 6',
  out: 'M10 5H5v14h5M14 8l4 4-4 4M18 12H9',
  box: 'M4 8l8-4 8 4v8l-8 4-8-4zM4 8l8 4 8-4M12 12v8',
  edit: 'M5 19l1-4L16 5l3 3L9 18zM14 7l3 3',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name, turning = false }: { name: IconName; turning?: boolean }) {
  return (
    <svg class={turning ? 'icon turning' : 'icon'} viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  )
}
