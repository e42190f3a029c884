import { readFileSync } from 'node:fs'
import { defineJob, openScheduler } from 'pawl'
import { oncePerSettings, serve } from './serving.mjs'

/** Pawl on a store, measured in the same way as the others. `remaining` counts what is not done. */
export function servePawl(store, remaining) {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  let body = () => {}
  const type = defineJob({ type: 'noop', run: () => body() })
  const open = oncePerSettings(({ concurrency }) => openScheduler({ store: store(), jobs: [type], concurrency }))

  async function producer({ concurrency = 100 }) {
    const scheduler = await open({ concurrency })
    return {
      enqueue: (n) => scheduler.enqueue(type, { n }),
      enqueueList: (ns) => scheduler.enqueueMany(ns.map((n) => ({ type, params: { n } }))),
    }
  }

  async function work({ concurrency }, everyBody) {
    body = everyBody
    const scheduler = await open({ concurrency })
    await scheduler.start()
    return () => scheduler.stop()
  }

  return serve({ version, producer, work, remaining })
}
