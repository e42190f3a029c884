import { alternate, compareSpeeds, line, median, perSecond } from '../figures.mjs'
import { FAMILIES, titleOf } from './systems.mjs'

/**
 * Lets all systems do the same work in turns. Before, each does `probe` jobs twice: the first time warms up, the second shows how
 * many fit into `portionMs`, so that a slow system does not take hours and a fast one does more than start and stop.
 * A peer that fails is out, with the reason; when Pawl fails there is nothing to compare.
 */
export async function takeTurns(crew, { portions, portionMs, probe }, work) {
  const jobs = {}
  const failures = {}
  const turn = (id) => async (portion) => {
    if (id in failures) return Number.NaN
    try {
      if (portion === 0) await work(crew[id], probe, id)
      const speed = await work(crew[id], portion === 0 ? probe : jobs[id], id)
      if (portion === 0) jobs[id] = Math.max(probe, Math.round((speed * portionMs) / 1_000 / probe) * probe)
      return speed
    } catch (error) {
      if (id.startsWith('pawl')) throw error
      failures[id] = error.message.split('\n')[0]
      return Number.NaN
    }
  }
  const speeds = await alternate(portions, Object.fromEntries(Object.keys(crew).map((id) => [id, turn(id)])))
  return { speeds, failures }
}

/** One line for each peer of the family. Those that are left out, or failed, have a line that says so. */
export function compareToPeers({ fleet, family, work, name, speeds, failures, settingsOf = () => '', needs = {} }) {
  const [ours, ...peers] = FAMILIES[family]
  return peers.map((system) => {
    const missing = fleet.whyLeftOut(system) ?? failures[system.id] ?? null
    const about = { name: `${name}, ${ours.form}`, atLeast: needs[system.id] ?? null }
    const compared =
      missing === null
        ? compareSpeeds({
            ...about,
            ours: speeds[ours.id],
            reference: speeds[system.id],
            referenceName: `${titleOf(system)}${settingsOf(system)}`,
          })
        : notMeasured(about, speeds[ours.id], system, missing)
    return { ...compared, work, family, peer: system.id }
  })
}

function notMeasured({ name, atLeast }, ours, system, why) {
  const needs = atLeast === null ? null : { kind: 'at-least', value: atLeast }
  const reference = `– ${titleOf(system)}: ${why}`
  return { ...line({ name, ours: perSecond(median(ours)), reference, ratio: null, needs }), passes: null }
}
