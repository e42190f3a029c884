import { type Evidence, findContradictions } from './contradictions/index.ts'
import { type History, readHistory } from './history.ts'
import { openReader, type Place, sourceOf } from './place.ts'
import { type Recorded, readRecord } from './record.ts'
import { seeEnded } from './sightings.ts'

export interface Examined {
  /** Every violated invariant, one sentence each, with the rows concerned. */
  readonly violations: readonly string[]
  readonly recorded: Recorded
  readonly history: History
}

/** What was to be done, and under which limits. */
export type Asked = Pick<Evidence, 'acts' | 'limits' | 'concurrency' | 'toldTypes'>

/** Looks at a store when everything has come to its end: what the database says of itself, and what was seen from outside. */
export async function examine(place: Place, folder: string, asked: Asked): Promise<Examined> {
  const recorded = readRecord(folder)
  await using reader = await openReader(place)
  const history = await readHistory(reader)
  const lastSeen = await seeEnded(reader)
  const contradictions = findContradictions({ ...asked, recorded, history, lastSeen })
  return { violations: [...(await findFaults(place)), ...contradictions], recorded, history }
}

/** All that the store itself finds wrong with what it holds, as `pawl doctor` does: warnings too, because all is at rest. */
export async function findFaults(place: Place): Promise<string[]> {
  const store = await sourceOf(place).open()
  try {
    const checked = await store.checkInvariants(Date.now())
    if (checked.length === 0) return ['The store checks no invariant.']
    return checked.flatMap(({ invariant, findings }) =>
      findings.map(({ severity, message, rows }) => `${invariant}: ${severity}: ${message} (${rows.join(', ')})`),
    )
  } finally {
    await store.close()
  }
}
