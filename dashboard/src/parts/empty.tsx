import type { ComponentChildren } from 'preact'
import type { ApiProblem } from '../api/http.ts'
import { Command } from './command.tsx'
import { Icon } from './icon.tsx'

/** There is nothing yet. `command` is exactly what makes the first one; see `Command` for what is filled in. */
export function NothingYet({
  title,
  children,
  command,
}: {
  title: string
  children?: ComponentChildren
  command?: string
}) {
  return (
    <div class="empty" data-empty="nothing-yet">
      <Icon name="box" />
      <strong>{title}</strong>
      {children && <p>{children}</p>}
      {command && <Command text={command} />}
    </div>
  )
}

/** There are some, but none like this. */
export function NothingMatches({ what, onClear }: { what: string; onClear: () => void }) {
  return (
    <div class="empty" data-empty="nothing-matches">
      <Icon name="search" />
      <strong>No {what} match these filters</strong>
      <button type="button" class="button" onClick={onClear}>
        Clear filters
      </button>
    </div>
  )
}

/** None so far, but not everything was looked at. */
export function WindowLimited({
  children,
  onMore,
  isBusy,
}: {
  children: ComponentChildren
  onMore: () => void
  isBusy: boolean
}) {
  return (
    <div class="empty" data-empty="window-limited">
      <Icon name="clock" />
      <strong>Nothing found so far</strong>
      <p role="status">{children}</p>
      <button type="button" class="button" disabled={isBusy} onClick={onMore}>
        Search further back
      </button>
    </div>
  )
}

/** It could not be asked. Filters stay as they are. */
export function CannotLoad({ problem, onRetry }: { problem: ApiProblem; onRetry: () => void }) {
  return (
    <div class="empty" data-empty="cannot-load" role="alert">
      <Icon name="warn" />
      <strong>{problem.isUnreachable ? 'The server does not answer' : 'This could not be loaded'}</strong>
      <p>{problem.isUnreachable ? 'The page tries again by itself as soon as it is back.' : problem.message}</p>
      <button type="button" class="button" onClick={onRetry}>
        Try again
      </button>
    </div>
  )
}

export function Loading() {
  return (
    <div class="empty" aria-busy="true">
      <span class="faint">Loading…</span>
    </div>
  )
}
