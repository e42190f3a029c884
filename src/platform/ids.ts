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

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** What the library's own `toString` makes, in 0.6 of its time: it goes digit by digit, and there are two ids to a Job. */
function textOf(bytes: Readonly<Uint8Array>): string {
  const hex = (from: number, to: number): string => {
    let text = ''
    for (let index = from; index < to; index++) text += HEX[bytes[index] as number]
    return text
  }
  return `${hex(0, 4)}-${hex(4, 6)}-${hex(6, 8)}-${hex(8, 10)}-${hex(10, 16)}`
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
    return textOf(generator.generateOrResetWithTs(latestAt).bytes)
  }
}
