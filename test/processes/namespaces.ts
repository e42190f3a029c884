import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

/** Starts a program in a pid namespace of its own, where it is process 1. It dies with the process that started it. */
export const UNSHARE = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child'] as const

/** Why no pid namespace can be made here, or null when one can. */
export function whyNoNamespaces(): string | null {
  if (process.platform !== 'linux') return 'pid namespaces exist only on Linux'
  const [program, ...args] = [...UNSHARE, process.execPath, '-p', 'process.pid']
  const { status, stdout, stderr, error } = spawnSync(program as string, args, { encoding: 'utf8' })
  if (status === 0 && stdout.trim() === '1') return null
  return `a pid namespace cannot be made here: ${error?.message ?? stderr.trim()}`
}

/** The pid, as we see it, of the process that `unshare` started. */
export function insideOf(unshare: number): number {
  const found = readdirSync('/proc').find((name) => /^\d+$/.test(name) && parentOf(name) === unshare)
  if (found === undefined) throw new Error(`Process ${unshare} has no child.`)
  return Number(found)
}

function parentOf(pid: string): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    // It ended while we looked.
    return null
  }
}
