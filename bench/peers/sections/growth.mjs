import { compareSpeeds } from '../../figures.mjs'
import { titleOf } from '../systems.mjs'
import { takeTurns } from '../turns.mjs'

const CALLERS = 100

/** The same work with a long history and a long backlog, against the same system with an empty store. */
export async function growth({ fleet, families, scale, say }) {
  const lines = []
  for (const family of families) {
    for (const system of fleet.present(family)) {
      const work = (sides) => growOne({ fleet, family, system, sides, scale: scale.growth, say })
      lines.push(...(await fleet.withStores(system, ['full', 'empty'], work)))
    }
  }
  return lines
}

async function growOne({ fleet, family, system, sides, scale, say }) {
  const { finished, queued, ...amount } = scale
  const { enqueueing, draining } = fleet.chosen[system.id]
  const title = titleOf(system)
  say(`${title}: making ${count(finished)} finished and ${count(queued)} queued jobs`)
  await sides.full.ask('grow', finished, queued, draining)
  const compare = async (work, ask) => {
    const { speeds, failures } = await takeTurns(sides, amount, ask)
    for (const failure of Object.values(failures)) throw new Error(`${title}: ${failure}`)
    const name = `full store: ${work}, ${title}`
    const about = { name, ours: speeds.full, reference: speeds.empty, referenceName: 'on an empty store' }
    return { ...compareSpeeds(about), work: `growth, ${work}`, family, peer: system.id }
  }
  const lines = [
    await compare('drain', (peer, jobs) => peer.ask('drain', jobs, draining)),
    await compare(`enqueue, ${CALLERS} concurrent callers`, (peer, jobs) =>
      peer.ask('enqueue', jobs, CALLERS, enqueueing),
    ),
  ]
  // Redis holds them in memory, and the next system needs it.
  await sides.full.ask('forget')
  return lines
}

function count(jobs) {
  return jobs.toLocaleString('en')
}
