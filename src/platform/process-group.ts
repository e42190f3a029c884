import { spawnSync } from 'node:child_process'

/**
 * Kills a group leader and every process of its group. That none is there any more is fine. The caller knows that the
 * pid still belongs to whom it thinks: its own child, or one whose identity was just compared.
 */
export function killProcessGroup(leader: number): void {
  // Windows has no groups; its own tool walks the tree of children.
  if (process.platform === 'win32') spawnSync('taskkill', ['/pid', String(leader), '/T', '/F'], { stdio: 'ignore' })
  else kill(-leader)
}

/**
 * Kills what a group leader left behind. Call it in the very turn in which the leader's end was reported: while a group
 * has members its number is not given away, and an empty one is not given away that soon.
 */
export function killGroupLeftovers(leader: number): void {
  if (process.platform !== 'win32') kill(-leader)
}

/** The last act of a group leader: the whole group ends, and it with them. */
export function killOwnGroup(): void {
  killProcessGroup(process.pid)
}

/** Kills one process, whether or not it leads a group. */
export function killProcess(pid: number): void {
  kill(pid)
}

function kill(target: number): void {
  try {
    process.kill(target, 'SIGKILL')
  } catch (error) {
    // ESRCH: none is there any more. EPERM: those that are left belong to someone else (macOS also says so of zombies).
    // Whoever must know looks again: `killOrphan` does.
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code !== 'ESRCH' && code !== 'EPERM') throw error
  }
}
