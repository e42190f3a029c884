import { V7Generator } from 'uuidv7'
import type { Clock } from './clock.ts'
import type { Random } from './random.ts'

export type IdSource = () => string

/**
 * UUIDv7 ids that only ever grow within a process. The library begins anew when the clock steps back by more than ten
 * seconds; we hold on to the latest instant instead, so that order by id stays order of creation.
 */
export function createIdSource(clock: Clock, random?: Random): IdSource {
  const generator =
    random === undefined
      ? new V7Generator()
      : new V7Generator({ nextUint32: () => Math.floor(random.next() * 0x1_0000_0000) })
  let latestAt = 0
  return () => {
    latestAt = Math.max(latestAt, clock.now())
    return generator.generateOrResetWithTs(latestAt).toString()
  }
}
