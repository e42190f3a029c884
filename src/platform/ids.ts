import { V7Generator } from 'uuidv7'
import type { Clock } from './clock.ts'
import type { Random } from './random.ts'

export type IdSource = () => string

/** Numbers from the system's secure source, drawn many at a time: asking for a few costs as much. */
function secureUint32s(): () => number {
  const pool = new Uint32Array(1024)
  let next = pool.length
  return () => {
    if (next === pool.length) {
      crypto.getRandomValues(pool)
      next = 0
    }
    return pool[next++] as number
  }
}

/**
 * UUIDv7 ids that only ever grow within a process. The library begins anew when the clock steps back by more than ten
 * seconds; we hold on to the latest instant instead, so that order by id stays order of creation.
 */
export function createIdSource(clock: Clock, random?: Random): IdSource {
  const nextUint32 = random === undefined ? secureUint32s() : () => Math.floor(random.next() * 0x1_0000_0000)
  const generator = new V7Generator({ nextUint32 })
  let latestAt = 0
  return () => {
    latestAt = Math.max(latestAt, clock.now())
    return generator.generateOrResetWithTs(latestAt).toString()
  }
}
