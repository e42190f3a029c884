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

const DIGITS = Buffer.from('0123456789abcdef', 'latin1')

/** Where the two digits of each byte stand in the text. */
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34] as const

const text = Buffer.alloc(36, '-', 'latin1')

/** What the library's own `toString` makes, without the many small texts that it is put together from: there are two ids to a Job. */
function textOf(bytes: Readonly<Uint8Array>): string {
  for (let index = 0; index < PLACES.length; index++) {
    const byte = bytes[index] as number
    const place = PLACES[index] as number
    text[place] = DIGITS[byte >> 4] as number
    text[place + 1] = DIGITS[byte & 15] as number
  }
  return text.toString('latin1')
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
