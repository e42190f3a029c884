// graphile-worker, by default or with its local queue and batched completion, as its page on performance shows them.
import { setTimeout as sleep } from 'node:timers/promises'
import { importPeer, options, versionOfPeer } from './answering.mjs'
import { oncePerSettings, serve } from './serving.mjs'

const { Logger, makeWorkerUtils, run } = await importPeer('graphile-worker')
const { default: pg } = await importPeer('pg')
const schema = `graphile_${options.store}`
// What fails shows in the counts of what was recorded.
const logger = new Logger(() => () => {})

// Connections stay open while others have their turn, so that no portion begins with connecting.
const poolOf = oncePerSettings(({ connections }) => {
  const pool = new pg.Pool({ connectionString: options.url, max: connections, idleTimeoutMillis: 0 })
  for (const event of ['error', 'connect']) pool.on(event, () => {})
  return pool
})

const open = oncePerSettings(async ({ connections }) => {
  const jobs = await makeWorkerUtils({ pgPool: poolOf({ connections }), schema, logger })
  await jobs.migrate()
  return jobs
})

async function producer({ connections = 10 }) {
  const jobs = await open({ connections })
  return {
    enqueue: (n) => jobs.addJob('noop', { n }),
    enqueueList: (ns) => jobs.addJobs(ns.map((n) => ({ identifier: 'noop', payload: { n } }))),
  }
}

async function work({ concurrency, localQueue, delayMs }, body) {
  const batched =
    localQueue === undefined
      ? {}
      : { localQueue: { size: localQueue }, completeJobBatchDelay: delayMs, failJobBatchDelay: delayMs }
  const pgPool = poolOf({ connections: Math.min(concurrency + 2, 30) })
  const runner = await run({
    pgPool,
    preset: { worker: { schema, concurrentJobs: concurrency, ...batched } },
    logger,
    taskList: { noop: () => body() },
    noHandleSignals: true,
    crontab: '',
  })
  return async () => {
    await runner.stop().catch(allowHeldJobs)
    // It does not wait for the outcomes that it is still writing. They are written when every connection is free again.
    while (pgPool.waitingCount > 0 || pgPool.idleCount < pgPool.totalCount) await sleep(1)
  }
}

/** When it stops with jobs in its local queue, 0.18.0 cannot give them back. They are not executed, so nothing is wrong. */
function allowHeldJobs(error) {
  if (!/deactivating queue|already released/.test(String(error))) throw error
}

async function remaining() {
  const { withPgClient } = await open({ connections: 10 })
  const { rows } = await withPgClient((client) => client.query(`select count(*)::integer as jobs from ${schema}.jobs`))
  return rows[0].jobs
}

await serve({ version: versionOfPeer('graphile-worker'), producer, work, remaining })
