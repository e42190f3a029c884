import { whileServing } from '../sections/loop.mjs'

/** How long other work of the process waits for the event loop while it drains. */
export function loop({ url, scale }) {
  return whileServing({ url, schema: 'serving' }, scale.loop.servedJobs)
}
