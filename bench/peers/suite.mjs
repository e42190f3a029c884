import { writePeersDocs } from './docs.mjs'
import { withFleet } from './fleet.mjs'
import { drain } from './sections/drain.mjs'
import { enqueue } from './sections/enqueue.mjs'
import { growth } from './sections/growth.mjs'
import { latency } from './sections/latency.mjs'
import { memory } from './sections/memory.mjs'
import { start } from './sections/start.mjs'
import { describeSystem, FAMILIES } from './systems.mjs'
import { tune } from './tuning.mjs'

/** `npm run bench -- --peers`: Pawl beside other schedulers, in turns. */
export const PEERS = {
  sections: { enqueue, drain, latency, memory, start, growth },
  // It takes long, most of it to make the history of the slower ones.
  onlyWhenAsked: ['growth'],
  within: ({ folder, scale }, work) =>
    withFleet(folder, async (fleet) => {
      const families = Object.keys(FAMILIES)
      console.log('tuning …')
      await tune(fleet, scale.tuning, (text) => console.log(`  ${text}`))
      const systems = families.flatMap((family) => FAMILIES[family].map((system) => describeSystem(system, fleet)))
      console.log(`\n${systems.map(({ title, text }) => `${title}: ${text}`).join('\n')}\n`)
      return work({ fleet, families }, aboutFleet(fleet, systems))
    }),
  intoDocs: (_, about, lines) => writePeersDocs(about, lines),
}

function aboutFleet({ about, servers }, systems) {
  const { node, sqlite } = about['pawl-sqlite']
  const redis = servers.redis === null ? 'no Redis' : `Redis ${servers.redis}`
  // The bench itself may run on an older one: what is measured does not.
  return { node, store: `SQLite ${sqlite}, ${redis}, PostgreSQL ${servers.postgres}`, durability: 'as named', systems }
}
