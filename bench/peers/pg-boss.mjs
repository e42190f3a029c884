// pg-boss, as its documentation shows it. Nothing else runs in its process that could slow it down.
import { importPeer, options, versionOfPeer } from './answering.mjs'
import { oncePerSettings, serve } from './serving.mjs'

const { PgBoss } = await importPeer('pg-boss')
const schema = `boss_${options.store}`

const open = oncePerSettings(async ({ connections, listens }) => {
  const boss = new PgBoss({
    connectionString: options.url,
    schema,
    max: connections,
    // Connections stay open while others have their turn, so that no portion begins with connecting.
    idleTimeoutMillis: 0,
    useListenNotify: listens,
    supervise: false,
    schedule: false,
  })
  boss.on('error', (error) => console.error(error))
  await boss.start()
  await boss.createQueue('noop')
  if (listens) await boss.createQueue('notified', { notify: true })
  return boss
})

const bossFor = ({ connections = 10, queue }) => open({ connections, listens: queue === 'notified' })

async function producer(settings) {
  const { queue = 'noop' } = settings
  const boss = await bossFor(settings)
  return {
    enqueue: (n) => boss.send(queue, { n }),
    enqueueList: (ns) =>
      boss.insert(
        queue,
        ns.map((n) => ({ data: { n } })),
      ),
  }
}

async function work(settings, body) {
  const { queue = 'noop', batchSize, localConcurrency } = settings
  const boss = await bossFor(settings)
  const polling = { pollingIntervalSeconds: 0.5, burstWhenBatchFull: batchSize > 1 }
  await boss.work(queue, { batchSize, localConcurrency, ...polling }, async (jobs) => {
    for (const _ of jobs) body()
  })
  return () => boss.offWork(queue, { wait: true })
}

async function remaining() {
  const boss = await bossFor({})
  const { rows } = await boss
    .getDb()
    .executeSql(`select count(*)::integer as jobs from ${schema}.job where state < 'completed'`, [])
  return rows[0].jobs
}

await serve({ version: versionOfPeer('pg-boss'), producer, work, remaining })
