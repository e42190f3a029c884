import { compareTimes } from '../../figures.mjs'
import { titleOf } from '../systems.mjs'

/** From the call that enqueues to the first line of the body, with an idle worker in the same process. */
export async function latency({ fleet, families, scale }) {
  const { rounds, samples } = scale.latency
  const lines = []
  for (const family of families) {
    const [ours, ...peers] = fleet.present(family)
    const ms = await fleet.withCrew(family, 'latency', (crew) => sampleInTurns(crew, [ours, ...peers], rounds, samples))
    for (const percent of [50, 99]) {
      for (const system of peers) {
        const compared = compareTimes({
          name: `enqueue to start, p${percent}, ${ours.form}`,
          oursMs: ms[ours.id],
          referenceMs: ms[system.id],
          referenceName: titleOf(system),
          percent,
        })
        lines.push({ ...compared, work: `latency p${percent}`, family, peer: system.id })
      }
    }
  }
  return lines
}

async function sampleInTurns(crew, systems, rounds, samples) {
  const ms = Object.fromEntries(systems.map(({ id }) => [id, []]))
  for (let round = 0; round <= rounds; round++) {
    for (const { id, waiting } of round % 2 === 0 ? systems : systems.toReversed()) {
      const found = await crew[id].ask('latency', samples, waiting)
      // The first round warms up.
      if (round > 0) ms[id].push(...found)
    }
  }
  return ms
}
