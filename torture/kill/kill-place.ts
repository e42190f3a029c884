import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import type { Place } from '../outside/place.ts'

/** Where rounds have their stores, and how they are removed. */
export interface KillPlace {
  take(): Place
  giveBack(place: Place): Promise<void>
}

export function filesOfTheirOwn(): KillPlace {
  const folders = new Map<Place, string>()
  return {
    take() {
      const folder = mkdtempSync(join(tmpdir(), 'pawl-kill-'))
      const place: Place = { kind: 'sqlite', path: join(folder, 'pawl.db') }
      folders.set(place, folder)
      return place
    },
    async giveBack(place) {
      rmSync(folders.get(place) ?? '', { recursive: true, force: true, maxRetries: 5 })
      folders.delete(place)
    },
  }
}

export function schemasOn(url: string): KillPlace {
  let taken = 0
  return {
    take: () => ({ kind: 'postgres', url, schema: `round_${++taken}` }),
    async giveBack(place) {
      if (place.kind !== 'postgres') return
      const client = new Client({ connectionString: url })
      await client.connect()
      try {
        await client.query(`drop schema if exists "${place.schema}" cascade`)
      } finally {
        await client.end()
      }
    },
  }
}
