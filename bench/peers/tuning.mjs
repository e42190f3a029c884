import { median, perSecond } from '../figures.mjs'
import { describeSettings, FAMILIES, titleOf } from './systems.mjs'
import { takeTurns } from './turns.mjs'

const CALLERS = 100

/** Tries the settings of every system before anything is compared, and keeps the best ones by their median. */
export async function tune(fleet, amount, say) {
  for (const family of Object.keys(FAMILIES)) {
    const systems = fleet.present(family)
    // Each on stores of its own: draining begins with an empty queue.
    const enqueueing = await fleet.withCrew(family, 'tuning_enqueue', (crew) =>
      best(systems, 'enqueueing', crew, amount, (peer, jobs, settings) => peer.ask('enqueue', jobs, CALLERS, settings)),
    )
    const draining = await fleet.withCrew(family, 'tuning_drain', (crew) =>
      best(systems, 'draining', crew, amount, (peer, jobs, settings) => peer.ask('drain', jobs, settings)),
    )
    for (const system of systems) {
      const [accepting, executing] = [enqueueing[system.id], draining[system.id]]
      fleet.chosen[system.id] = { enqueueing: accepting.settings, draining: executing.settings }
      say(`${titleOf(system)}: enqueue ${describeBest(accepting)}; drain ${describeBest(executing)}`)
    }
  }
}

async function best(systems, kind, crew, amount, work) {
  const choices = systems.flatMap((system) =>
    system[kind].slice(0, amount.choices).map((settings, index) => ({ id: `${system.id}#${index}`, system, settings })),
  )
  const byId = Object.fromEntries(choices.map((choice) => [choice.id, choice]))
  const peers = Object.fromEntries(choices.map(({ id, system }) => [id, crew[system.id]]))
  const { speeds } = await takeTurns(peers, amount, (peer, jobs, id) => work(peer, jobs, byId[id].settings))
  const found = {}
  for (const { id, system, settings } of choices) {
    const speed = median(speeds[id])
    // A setting that failed has no speed and is never better.
    if (found[system.id] === undefined || speed > (found[system.id].speed || 0)) found[system.id] = { settings, speed }
  }
  return found
}

function describeBest({ settings, speed }) {
  return `${describeSettings(settings) || 'nothing to choose'} (${perSecond(speed)})`
}
