import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** A process as the operating system lists it now. */
export interface ListedProcess {
  /** When it started. Two processes that had the same pid one after the other differ in it. */
  readonly startTime: string
  /** It has ended and only waits for its parent to notice. It executes nothing any more. */
  readonly isZombie: boolean
}

const ASK_TIMEOUT_MS = 5_000

/** Finds a process by its pid, or null when there is none. */
export function findListedProcess(pid: number): ListedProcess | null {
  if (process.platform === 'linux') {
    const found = readStat(pid)
    return found && { startTime: found.startTime, isZombie: found.isZombie }
  }
  if (process.platform === 'win32') return findOnWindows(pid)
  // The date comes first and has always five words: `Sun Nov 15 20:38:51 2026 Ss`.
  const words = ask('ps', ['-o', 'lstart=,stat=', '-p', String(pid)])?.split(/\s+/) ?? []
  if (words.length < 6) return null
  return { startTime: words.slice(0, 5).join(' '), isZombie: (words[5] ?? '').startsWith('Z') }
}

/** Whether any process of this group still executes. Zombies do not, and they may stay for as long as nobody reaps them. */
export function hasLivingMember(group: number): boolean {
  if (process.platform === 'linux') {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((name) => readStat(Number(name)))
      .some((found) => found !== null && found.group === group && !found.isZombie)
  }
  if (process.platform === 'win32') return false
  const lines = ask('ps', ['-A', '-o', 'pgid=,stat='])?.split('\n') ?? []
  return lines.some((line) => new RegExp(`^\\s*${group}\\s+[^Z]`).test(line))
}

let bootId: string | undefined

/** What distinguishes this boot of the machine from every other, or `unknown`. */
export function readBootId(): string {
  bootId ??= findBootId() || 'unknown'
  return bootId
}

function findBootId(): string | null {
  if (process.platform === 'darwin') return ask('sysctl', ['-n', 'kern.bootsessionuuid'])
  if (process.platform !== 'linux') return null
  return attempt(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim())
}

/** The namespace in which our pids count: two containers may both have a process 7. */
export function readPidNamespace(): string {
  return (process.platform === 'linux' ? attempt(() => readlinkSync('/proc/self/ns/pid')) : null) ?? 'none'
}

interface Stat extends ListedProcess {
  readonly group: number
}

function readStat(pid: number): Stat | null {
  const text = attempt(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  if (text === null) return null
  // The second field is the program's name in parentheses. It may itself hold spaces and parentheses, so we count from
  // the last one: state is field 3, process group field 5, start time field 22.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state = '', group = '', startTime = ''] = [fields[0], fields[2], fields[19]]
  return { startTime, isZombie: state === 'Z' || state === 'X', group: Number(group) }
}

function findOnWindows(pid: number): ListedProcess | null {
  const script = `(Get-Process -Id ${pid}).StartTime.ToFileTimeUtc()`
  const startTime = ask('powershell.exe', ['-NoProfile', '-NonInteractive', '-Command', script])
  return startTime ? { startTime, isZombie: false } : null
}

/** The output of a small system program, or null when it fails, as `ps` does for a pid that is not there. */
function ask(program: string, args: readonly string[]): string | null {
  // A fixed zone and language: an identity is compared as text, perhaps by a process with other settings.
  const env = { ...process.env, TZ: 'UTC', LC_ALL: 'C' }
  return attempt(() =>
    execFileSync(program, args, { env, timeout: ASK_TIMEOUT_MS, stdio: ['ignore', 'pipe', 'ignore'] })
      .toString()
      .trim(),
  )
}

function attempt<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    return null
  }
}
