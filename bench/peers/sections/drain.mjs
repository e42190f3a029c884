import { describeSettings } from '../systems.mjs'
import { compareToPeers, takeTurns } from '../turns.mjs'

const NEEDS = {
  sqlite: { 'bullmq-everysec': 2.5, 'plainjob-full': 10 },
  postgres: { 'pg-boss': 1, 'graphile-batched': 0.8 },
}

/** Executing no-op jobs from a full queue, from the start of the worker until the last outcome is recorded. */
export async function drain({ fleet, families, scale }) {
  const lines = []
  for (const family of families) {
    const settingsOf = ({ id }) => fleet.chosen[id].draining
    await fleet.withCrew(family, 'drain', async (crew) => {
      const found = await takeTurns(crew, scale.drain, (peer, jobs, id) => peer.ask('drain', jobs, settingsOf({ id })))
      const [ours] = fleet.present(family)
      lines.push(
        ...compareToPeers({
          fleet,
          family,
          work: 'drain',
          name: `drain at ${describeSettings(settingsOf(ours))}`,
          ...found,
          settingsOf: (system) => ` (${describeSettings(settingsOf(system))})`,
          needs: NEEDS[family],
        }),
      )
    })
  }
  return lines
}
