import { once } from 'node:events'
import autocannon from 'autocannon'
import { alternate, compareSpeeds } from '../figures.mjs'
import { endChild, startChild } from '../processes.mjs'
import { inFolder, Noop, openPawl } from '../stage.mjs'

const BODY = JSON.stringify({
  type: 'noop',
  params: { genre: 'gothic', length: 1_200 },
  priority: 5,
  tags: ['nightly'],
})

/** POST /api/jobs, each answered only once the Job would survive a power cut, while another process executes them. */
export async function enqueueOverHttp({ folder: parent, scale, say }) {
  return inFolder(parent, async (folder) => {
    // Makes the type known.
    await (await openPawl(folder, [new Noop().type])).close()
    const ours = await startChild('http-server', folder)
    const bare = await startChild('http-bare')
    const worker = await startChild('http-worker', folder)
    const speeds = await alternate(scale.portions, {
      ours: () => post(ours.told.port, scale),
      bare: () => post(bare.told.port, scale),
    })
    worker.child.send('how many?')
    const [{ executed }] = await once(worker.child, 'message')
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
    ]
  })
}

/** How many were accepted per second. */
async function post(port, { connections, seconds }) {
  const result = await autocannon({
    url: `http://127.0.0.1:${port}/api/jobs`,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: BODY,
    connections,
    duration: seconds,
  })
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(`${result.non2xx} answers were no success, and ${result.errors} requests failed.`)
  }
  return result['2xx'] / result.duration
}
