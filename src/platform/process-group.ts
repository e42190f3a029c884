import { spawnSync } from 'node:child_process'

/**
 * Kills a group leader and every process of its group, and says whether there was any. The caller knows that the pid
 * still belongs to whom it thinks: its own child, or one whose identity was just compared.
 */
export function killProcessGroup(leader: number): boolean {
  if (process.platform !== 'win32') return kill(-leader)
  // Windows has no groups; its own tool walks the tree of children.
  return spawnSync('taskkill', ['/pid', String(leader), '/T', '/F'], { stdio: 'ignore' }).status === 0
}

/** The last act of a group leader: the whole group ends, and it with them. */
export function killOwnGroup(): void {
  killProcessGroup(process.pid)
}

/** Kills one process, whether or not it leads a group. */
export function killProcess(pid: number): boolean {
  return kill(pid)
}

function kill(target: number): boolean {
  try {
    return process.kill(target, 'SIGKILL')
  } catch (error) {
    // ESRCH: none is there any more. EPERM: those that are left belong to someone else (macOS also says so of zombies).
    // Whoever must know looks again: `killOrphan` does.
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code !== 'ESRCH' && code !== 'EPERM') throw error
    return false
  }
}
