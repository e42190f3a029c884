import { compareTimes } from '../../figures.mjs'
import { timeFirstJob } from '../peer.mjs'
import { titleOf } from '../systems.mjs'

/** From the start of a process to the first line of its first job, on a store that exists. */
export async function start({ fleet, families, scale }) {
  const lines = []
  for (const family of families) {
    const systems = fleet.present(family)
    const ms = Object.fromEntries(systems.map(({ id }) => [id, []]))
    for (let round = 0; round <= scale.start.rounds; round++) {
      for (const system of round % 2 === 0 ? systems : systems.toReversed()) {
        const options = { ...fleet.optionsFor(system, 'start'), settings: system.waiting }
        const found = await timeFirstJob(system, options)
        // The first round makes the stores.
        if (round > 0) ms[system.id].push(found)
      }
    }
    const [ours, ...peers] = systems
    for (const system of peers) {
      const compared = compareTimes({
        name: `start of the process to the first job, ${ours.form}`,
        oursMs: ms[ours.id],
        referenceMs: ms[system.id],
        referenceName: titleOf(system),
        percent: 50,
      })
      lines.push({ ...compared, work: 'start', family, peer: system.id })
    }
  }
  return lines
}
