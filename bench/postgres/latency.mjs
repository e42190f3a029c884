import { acrossProcesses, inOneProcess } from '../sections/latency.mjs'
import { PostgresFloor } from './floor.mjs'

const ACROSS_PROCESSES_MS = 20

/** From the call of `enqueue` to the first line of the handler, on an idle scheduler. */
export async function latency({ url, scale }) {
  const { samples, acrossSamples } = scale.latency
  const openFloor = () => PostgresFloor.open(url, 'latency_floor')
  return [
    ...(await inOneProcess({ url, schema: 'latency' }, openFloor, samples)),
    ...(await acrossProcesses({ url, schema: 'latency_across' }, acrossSamples, ACROSS_PROCESSES_MS)),
  ]
}
