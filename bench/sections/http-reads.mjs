import { mkdirSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { defineJob } from 'pawl'
import { fillWithHistory } from '../big-store.mjs'
import { compareTimes } from '../figures.mjs'
import { endChild, startChild } from '../processes.mjs'
import { inFolder, Noop, openPawl } from '../stage.mjs'

/** @type {[name: string, path: (jobId: string) => string][]} */
const PATHS = [
  ['one job', (id) => `/api/jobs/${id}`],
  ['why', (id) => `/api/jobs/${id}/why`],
  ['newest 50 jobs', () => '/api/jobs'],
  ['first 50 of the queue', () => '/api/jobs?status=QUEUED'],
  ['50 finished jobs of a type', () => '/api/jobs?status=FINISHED&type=noop'],
  ['newest 50 runs', () => '/api/job-runs'],
  ['status', () => '/api/scheduler/status'],
]

/** How long reads take of a store with many Jobs, against one with few: half of them are finished, half queued. */
export async function readOverHttp({ folder: parent, scale, say }) {
  return inFolder(parent, async (folder) => {
    const small = await openStore(join(folder, 'small'), scale.small)
    const large = await openStore(join(folder, 'large'), scale.large)
    say(`${scale.large.toLocaleString('en')} jobs are stored`)
    const lines = []
    for (const [name, path] of PATHS) {
      const [referenceMs, oursMs] = await sample([small, large], path, scale)
      lines.push(
        compareTimes({
          name: `GET ${name}, ${scale.large.toLocaleString('en')} jobs, p99`,
          oursMs,
          referenceMs,
          referenceName: `with ${scale.small.toLocaleString('en')} jobs`,
          percent: 99,
          atLeast: 0.333,
        }),
      )
    }
    for (const { server } of [small, large]) await endChild(server)
    return lines
  })
}

async function openStore(folder, jobs) {
  mkdirSync(folder)
  const noop = new Noop()
  const scheduler = await openPawl(folder, [noop.type, defineJob({ type: 'busy', run: () => {} })])
  const { jobId } = await scheduler.enqueue(noop.type, { n: 1 })
  await scheduler.enqueue('busy', { n: 1 })
  await scheduler.close()
  fillWithHistory(join(folder, 'pawl.db'), { finished: jobs / 2, queued: jobs / 2 })
  const server = await startChild('http-server', folder)
  return { server, jobId, agent: new Agent({ keepAlive: true }) }
}

/** The stores take turns, request by request, so that whatever else the machine does meets both alike. */
async function sample(stores, path, { samples, connections }) {
  const times = stores.map(() => [])
  const warmUp = Math.ceil(samples / 5)
  let left = samples + warmUp
  const call = async () => {
    while (left-- > 0) {
      const counts = left < samples
      for (const [index, store] of stores.entries()) {
        const ms = await timeOf(store, path(store.jobId))
        if (counts) times[index].push(ms)
      }
    }
  }
  await Promise.all(Array.from({ length: connections }, call))
  return times
}

/** How long one read took, in milliseconds. */
export function timeOf({ server, agent }, path) {
  const beganAt = performance.now()
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: server.told.port, path, agent }
    request(options, (response) => {
      response.resume()
      response.on('end', () =>
        response.statusCode === 200
          ? resolve(performance.now() - beganAt)
          : reject(new Error(`GET ${path} was answered with ${response.statusCode}.`)),
      )
    })
      .on('error', reject)
      .end()
  })
}
