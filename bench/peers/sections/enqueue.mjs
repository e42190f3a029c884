import { describeSettings } from '../systems.mjs'
import { compareToPeers, takeTurns } from '../turns.mjs'

const CALLERS = 100
const BULK = 500

const NEEDS = {
  sqlite: { 'bullmq-everysec': 1, 'bullmq-always': 1 },
  postgres: { 'pg-boss': 20, graphile: 20, 'graphile-batched': 20 },
}

const WAYS = {
  oneByOne: {
    name: 'enqueue one by one',
    ask: (peer, jobs, settings) => peer.ask('enqueue', jobs, 1, settings),
    needs: {},
  },
  concurrent: {
    name: `enqueue, ${CALLERS} concurrent callers`,
    ask: (peer, jobs, settings) => peer.ask('enqueue', jobs, CALLERS, settings),
    needs: NEEDS,
  },
  bulk: {
    name: `enqueue lists of ${BULK}`,
    ask: (peer, jobs, settings) => peer.ask('enqueueLists', jobs, BULK, settings),
    needs: {},
  },
}

/** Accepting jobs in three ways. */
export async function enqueue({ fleet, families, scale }) {
  const lines = []
  const settingsOf = (id) => fleet.chosen[id].enqueueing
  const described = ({ id }) => inBrackets(describeSettings(settingsOf(id)))
  for (const family of families) {
    await fleet.withCrew(family, 'enqueue', async (crew) => {
      for (const [work, { name, ask, needs }] of Object.entries(WAYS)) {
        const found = await takeTurns(crew, scale.enqueue[work], (peer, jobs, id) => ask(peer, jobs, settingsOf(id)))
        const about = { fleet, family, work, name, settingsOf: described, needs: needs[family] }
        lines.push(...compareToPeers({ ...about, ...found }))
      }
    })
  }
  return lines
}

function inBrackets(text) {
  return text === '' ? '' : ` (${text})`
}
