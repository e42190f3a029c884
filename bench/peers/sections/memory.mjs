import { line, megabytes } from '../../figures.mjs'
import { titleOf } from '../systems.mjs'

/** The memory of the process after it has executed many jobs. Here the ratio is how many times as much. */
export async function memory({ fleet, families, scale }) {
  const { jobs } = scale.memory
  const lines = []
  for (const family of families) {
    const [ours, ...peers] = fleet.present(family)
    const found = {}
    await fleet.withCrew(family, 'memory', async (crew) => {
      for (const { id } of [ours, ...peers]) {
        await crew[id].ask('drain', jobs, fleet.chosen[id].draining)
        found[id] = await crew[id].ask('memory')
      }
    })
    for (const system of peers) {
      const { process: bytes, server } = found[system.id]
      const besides = server === null ? '' : `, and ${megabytes(server)} in Redis`
      lines.push({
        ...line({
          name: `memory after ${jobs.toLocaleString('en')} jobs, ${ours.form}`,
          ours: megabytes(found[ours.id].process),
          reference: `${megabytes(bytes)} ${titleOf(system)}${besides}`,
          ratio: found[ours.id].process / bytes,
        }),
        work: 'memory',
        family,
        peer: system.id,
      })
    }
  }
  return lines
}
