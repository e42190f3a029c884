import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { killProcess, killProcessGroup } from './process-group.ts'
import { findListedProcess, hasLivingMember, readBootId, readPidNamespace } from './process-table.ts'

/** What identifies a process beyond its pid, so that a recycled pid is never taken for it. */
export interface ProcessIdentity {
  readonly pid: number
  /** Its start time as the operating system tells it. */
  readonly startTime: string
  /** The machine, by its name: pids of another one say nothing here. */
  readonly host: string
  readonly bootId: string
  readonly pidNamespace: string
}

const POLL_MS = 5
const KILL_TIMEOUT_MS = 10_000

/** Who the process with this pid is, or null when there is none. */
export function identifyProcess(pid: number): ProcessIdentity | null {
  const found = findListedProcess(pid)
  if (found === null) return null
  const { startTime } = found
  return { pid, startTime, host: hostname(), bootId: readBootId(), pidNamespace: readPidNamespace() }
}

/** Whether this very process still executes here. A zombie does not. */
export function isSameProcess(identity: ProcessIdentity): boolean {
  const found = whereIs(identity) === 'here' ? findSame(identity) : null
  return found !== null && !found.isZombie
}

/**
 * Kills a process and the group it leads, and resolves when none of them executes any more.
 * `gone`: there was nothing to kill. `foreign`: its pid means something on another machine or in another pid namespace.
 * Rejects when it may not be killed, or does not go away.
 */
export async function killOrphan(identity: ProcessIdentity): Promise<'killed' | 'gone' | 'foreign'> {
  const place = whereIs(identity)
  if (place !== 'here') return place
  // A zombie leader still holds the group's number, so what is left of the group is certainly its own.
  if (findSame(identity) === null || !isAnyoneLeft(identity)) return 'gone'
  killProcessGroup(identity.pid)
  if (isSameProcess(identity)) killProcess(identity.pid)
  if (await becomesFalse(() => isAnyoneLeft(identity))) return 'killed'
  throw new Error(`Process ${identity.pid} was killed, but it or one of its group is still there.`)
}

/**
 * Kills what a child of ours, a group leader, left behind in its group. Call it in the very turn in which its end was
 * reported: while a group has members its number is not given away, and an empty one is not given away that soon.
 */
export async function killLeftovers(leader: number): Promise<void> {
  if (process.platform === 'win32') return
  if (killProcessGroup(leader)) await becomesFalse(() => hasLivingMember(leader))
}

/** Asks again and again, but not for ever. Says whether the answer was false in the end. */
async function becomesFalse(isSo: () => boolean): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < KILL_TIMEOUT_MS; waitedMs += POLL_MS) {
    if (!isSo()) return true
    await sleep(POLL_MS)
  }
  return false
}

function whereIs(identity: ProcessIdentity): 'here' | 'gone' | 'foreign' {
  // Another boot of this machine ended all of its processes. Of another machine we know nothing.
  if (identity.host !== hostname()) return 'foreign'
  // Linux counts start times from the boot. Without knowing the boot they could fit a stranger.
  if (process.platform === 'linux' && identity.bootId === 'unknown') return 'foreign'
  if (identity.bootId !== readBootId()) return 'gone'
  return identity.pidNamespace === readPidNamespace() ? 'here' : 'foreign'
}

function findSame(identity: ProcessIdentity) {
  // Pids 0 and below mean groups to `kill`, and 1 is init: none of them is ever a child of ours.
  if (!Number.isSafeInteger(identity.pid) || identity.pid <= 1) return null
  const found = findListedProcess(identity.pid)
  return found?.startTime === identity.startTime ? found : null
}

function isAnyoneLeft(identity: ProcessIdentity): boolean {
  return isSameProcess(identity) || hasLivingMember(identity.pid)
}
