const DELAY_MAX_MS = 2_147_483_647

/**
 * Calls `act` after real time has passed, unless the returned function is called before. Threads and processes live in
 * real time, whatever clock the scheduler was given, so the grace they get is never virtual.
 */
export function afterGrace(graceMs: number, act: () => void): () => void {
  // Node turns a delay over this into 1 ms, which would kill at once what was given all the time in the world.
  const timer = setTimeout(act, Math.min(graceMs, DELAY_MAX_MS))
  return () => clearTimeout(timer)
}
