// pg-boss, as its documentation shows it. Nothing else runs in its process that could slow it down.
import { answer, importPeer, options, versionOfPeer } from './answering.mjs'

const { PgBoss } = await importPeer('pg-boss')
const boss = new PgBoss({ connectionString: options.url, schema: 'pgboss', supervise: false, schedule: false })
boss.on('error', (error) => console.error(error))
await boss.start()
await boss.createQueue('noop')

answer({
  version: () => versionOfPeer('pg-boss'),

  /** So many callers, each of which sends one job after the other. Returns jobs per second. */
  async enqueue(jobs, callers) {
    const perCaller = Math.ceil(jobs / callers)
    const startedAt = performance.now()
    await Promise.all(
      Array.from({ length: callers }, async () => {
        for (let n = 0; n < perCaller; n++) await boss.send('noop', { n })
      }),
    )
    return ((perCaller * callers) / (performance.now() - startedAt)) * 1_000
  },
})
