import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { logOut, mayAdminister, session } from './api/session.ts'
import { openPanel } from './keyboard.ts'
import { held, hold, isPausedByUser, liveState, release } from './live/stream.ts'
import { AuditPage } from './pages/audit.tsx'
import { DirectPage } from './pages/direct.tsx'
import { GroupPage, GroupsPage } from './pages/groups.tsx'
import { JobPage } from './pages/job.tsx'
import { JobsPage } from './pages/jobs.tsx'
import { KeysPage } from './pages/keys.tsx'
import { LoginPage } from './pages/login.tsx'
import { NodesPage } from './pages/nodes.tsx'
import { OperationsPage } from './pages/operations.tsx'
import { OverviewPage } from './pages/overview.tsx'
import { SchedulePage } from './pages/schedule.tsx'
import { SchedulesPage } from './pages/schedules.tsx'
import { TemplatesPage } from './pages/templates.tsx'
import { WebhookPage } from './pages/webhook.tsx'
import { WebhooksPage } from './pages/webhooks.tsx'
import { shortId } from './parts/copy.tsx'
import { NothingYet } from './parts/empty.tsx'
import { Icon, type IconName } from './parts/icon.tsx'
import { Help, Palette } from './parts/palette.tsx'
import { Toasts } from './parts/toast.tsx'
import { href, page, place } from './route.ts'
import { setTheme, type Theme, theme } from './theme.ts'

type Entry = readonly [page: string, title: string, icon: IconName]

const MENU: readonly (readonly [title: string, entries: readonly Entry[]])[] = [
  ['', [['', 'Overview', 'overview']]],
  [
    'Work',
    [
      ['jobs', 'Jobs', 'jobs'],
      ['groups', 'Groups', 'groups'],
      ['direct', 'Direct', 'direct'],
      ['operations', 'Operations', 'operations'],
    ],
  ],
  [
    'Plans',
    [
      ['schedules', 'Schedules', 'schedules'],
      ['templates', 'Templates', 'templates'],
    ],
  ],
  [
    'System',
    [
      ['webhooks', 'Webhooks', 'webhooks'],
      ['nodes', 'Nodes', 'nodes'],
      ['audit', 'Audit', 'audit'],
      ['keys', 'Keys', 'keys'],
    ],
  ],
]

const TITLES = new Map(MENU.flatMap(([, entries]) => entries.map(([name, title]) => [name, title] as const)))

export function App() {
  const [isMenuOpen, setMenuOpen] = useState(false)
  const known = session.value
  const where = place.value
  useLayoutEffect(() => setMenuOpen(false), [where])
  useEffect(() => {
    const id = where.parts[1]
    document.title = `${id ? `${shortId(id)} · ` : ''}${TITLES.get(page.value) ?? 'Not found'} · Pawl`
  }, [where])
  if (known === null) return null
  if (!known.authenticated) return <LoginPage />
  return (
    <>
      <a class="skip" href="#content" data-outside>
        Skip to content
      </a>
      <div class="shell">
        <Side isOpen={isMenuOpen} />
        <div class="main">
          <Bar isMenuOpen={isMenuOpen} onMenu={() => setMenuOpen(!isMenuOpen)} />
          <main class="content" id="content" tabIndex={-1}>
            <Page />
          </main>
        </div>
      </div>
      {openPanel.value === 'palette' && <Palette />}
      {openPanel.value === 'help' && <Help />}
      <Toasts />
    </>
  )
}

function Page() {
  const [name = '', id] = place.value.parts
  switch (name) {
    case '':
      return <OverviewPage />
    case 'jobs':
      return id ? <JobPage id={id} key={id} /> : <JobsPage />
    case 'groups':
      return id ? <GroupPage id={id} key={id} /> : <GroupsPage />
    case 'direct':
      return <DirectPage />
    case 'operations':
      return <OperationsPage />
    case 'schedules':
      return id ? <SchedulePage id={id} key={id} /> : <SchedulesPage />
    case 'templates':
      return <TemplatesPage />
    case 'webhooks':
      return id ? <WebhookPage id={id} key={id} /> : <WebhooksPage />
    case 'nodes':
      return <NodesPage />
    case 'audit':
      return <AuditPage />
    case 'keys':
      return <KeysPage />
    default:
      return <NothingYet title="There is no such page">The address may be mistyped.</NothingYet>
  }
}

function Side({ isOpen }: { isOpen: boolean }) {
  const known = session.value
  return (
    <div class="side" data-open={isOpen}>
      <a class="brand" href={href()}>
        <img src={new URL('icon.svg', document.baseURI).href} alt="" />
        Pawl
      </a>
      <nav class="nav" aria-label="Pages" id="menu">
        {MENU.map(([title, entries]) => (
          <div class="nav-group" key={title}>
            {title && <div class="nav-title">{title}</div>}
            {entries.map(([name, words, icon]) =>
              name === 'keys' && !mayAdminister.value ? null : (
                <a
                  href={href(...(name ? [name] : []))}
                  aria-current={page.value === name ? 'page' : undefined}
                  key={name}
                >
                  <Icon name={icon} />
                  {words}
                </a>
              ),
            )}
          </div>
        ))}
      </nav>
      <div class="side-foot">
        {known?.keys_required ? (
          <div class="row spread keep">
            <span class="clip" title={known.actor ?? ''}>
              {known.actor} · {known.role}
            </span>
            <button
              type="button"
              class="button plain slim square"
              aria-label="Log out"
              title="Log out"
              onClick={() => void logOut()}
            >
              <Icon name="out" />
            </button>
          </div>
        ) : (
          <span>No keys: everybody here is admin</span>
        )}
        <span>Pawl {known?.version}</span>
      </div>
    </div>
  )
}

function Bar({ isMenuOpen, onMenu }: { isMenuOpen: boolean; onMenu: () => void }) {
  const [name = '', id] = place.value.parts
  const title = TITLES.get(name) ?? 'Not found'
  return (
    <header class="bar">
      <button
        type="button"
        class="button plain square menu-button"
        aria-label="Menu"
        aria-expanded={isMenuOpen}
        aria-controls="menu"
        onClick={onMenu}
      >
        <Icon name={isMenuOpen ? 'close' : 'menu'} />
      </button>
      <nav class="crumbs" aria-label="Where you are">
        {id ? (
          <>
            <a href={href(name)}>{title}</a>
            <Icon name="right" />
            <span class="mono clip" aria-current="page" title={id}>
              {shortId(id)}
            </span>
          </>
        ) : (
          <span aria-current="page">{title}</span>
        )}
      </nav>
      <button
        type="button"
        class="button plain slim wide-only"
        onClick={() => {
          openPanel.value = 'palette'
        }}
      >
        <Icon name="search" /> Go to <kbd>Ctrl K</kbd>
      </button>
      <LiveMark />
      <ThemeButton />
      <button
        type="button"
        class="button plain square wide-only"
        aria-label="Keyboard shortcuts"
        title="Keyboard shortcuts"
        onClick={() => {
          openPanel.value = 'help'
        }}
      >
        <kbd>?</kbd>
      </button>
    </header>
  )
}

const LIVE_WORDS = { live: 'Live', paused: 'Paused', reconnecting: 'Reconnecting', connecting: 'Connecting' } as const

function LiveMark() {
  const state = liveState.value
  const more = state === 'paused' && held.value > 0 ? ` · ${held.value} new` : ''
  return (
    <button
      type="button"
      class="live"
      data-state={state}
      aria-live="polite"
      aria-pressed={isPausedByUser.value}
      title={isPausedByUser.value ? 'Go on' : 'Pause: nothing on the page moves'}
      onClick={() => (isPausedByUser.value ? release('user') : hold('user'))}
    >
      <span class="dot" />
      {LIVE_WORDS[state]}
      {more}
    </button>
  )
}

const NEXT: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' }
const THEME_ICONS: Readonly<Record<Theme, IconName>> = { system: 'system', light: 'sun', dark: 'moon' }

function ThemeButton() {
  const words = `Theme: ${theme.value}`
  return (
    <button
      type="button"
      class="button plain square"
      aria-label={words}
      title={words}
      onClick={() => setTheme(NEXT[theme.value])}
    >
      <Icon name={THEME_ICONS[theme.value]} />
    </button>
  )
}
