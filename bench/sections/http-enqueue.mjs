import autocannon from 'autocannon'
import { defineJob } from 'pawl'
import { alternate, compareSpeeds, line } from '../figures.mjs'
import { askChild, endChild, startChild } from '../processes.mjs'
import { inFolder, Noop, openPawl } from '../stage.mjs'

const BODY = JSON.stringify({
  type: 'noop',
  params: { genre: 'gothic', length: 1_200 },
  priority: 5,
  tags: ['nightly'],
})

/** How long the other process is kept busy by Jobs of its own, at the rate that it cannot pass. */
const BACKLOG_PER_SECOND = 4_000
const LIST_LENGTH = 10_000

/**
 * POST /api/jobs, each answered only once the Job would survive a power cut. Both servers are measured while another process
 * executes Jobs on the same machine and, for ours, in the same database.
 */
export async function enqueueOverHttp({ folder: parent, scale, say }) {
  return inFolder(parent, async (folder) => {
    await fill(folder, BACKLOG_PER_SECOND * scale.portions * scale.seconds * 2)
    const ours = await startChild('http-server', folder)
    const bare = await startChild('http-bare')
    const worker = await startChild('http-worker', folder)
    const cost = { ours: [], bare: [] }
    const speeds = await alternate(scale.portions, {
      ours: () => post(ours, scale, cost.ours),
      bare: () => post(bare, scale, cost.bare),
    })
    const { executed } = await askChild(worker)
    say(`the other process executed ${executed} jobs meanwhile`)
    for (const child of [ours, bare, worker]) await endChild(child)
    return [
      compareSpeeds({
        name: `POST /api/jobs, ${scale.connections} connections, while another process executes`,
        ours: speeds.ours,
        reference: speeds.bare,
        referenceName: 'bare fastify route, same schema, nothing stored',
        atLeast: 0.333,
      }),
      // The least of all portions: what else the machine does can only add to it.
      line({
        name: 'the same in time of the processor, per request',
        ours: `${Math.min(...cost.ours).toFixed(0)} µs`,
        reference: `${Math.min(...cost.bare).toFixed(0)} µs bare fastify route`,
        ratio: Math.min(...cost.bare) / Math.min(...cost.ours),
      }),
    ]
  })
}

/** Makes the types known, and gives the worker something to do. */
async function fill(folder, jobs) {
  const scheduler = await openPawl(folder, [new Noop().type, defineJob({ type: 'busy', run: () => {} })])
  for (let left = jobs; left > 0; left -= LIST_LENGTH) {
    await scheduler.enqueueMany(Array.from({ length: LIST_LENGTH }, () => ({ type: 'busy', params: null })))
  }
  await scheduler.close()
}

/** How many were accepted per second. Notes what each cost in microseconds of the server's processor. */
async function post(server, { connections, seconds }, cost) {
  const before = await askChild(server)
  const result = await autocannon({
    url: `http://127.0.0.1:${server.told.port}/api/jobs`,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: BODY,
    connections,
    duration: seconds,
  })
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(`${result.non2xx} answers were no success, and ${result.errors} requests failed.`)
  }
  const { cpu } = await askChild(server)
  cost.push((cpu.user + cpu.system - before.cpu.user - before.cpu.system) / result['2xx'])
  return result['2xx'] / result.duration
}
