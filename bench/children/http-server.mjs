// Serves the store of a folder over HTTP on a free port, and tells the port. It executes nothing.
import { defineJob } from 'pawl'
import { serveHttp } from 'pawl/http'
import { openPawl } from '../stage.mjs'

const types = ['noop', 'busy'].map((type) => defineJob({ type, run: () => {} }))
const scheduler = await openPawl(process.argv[2], types)
const server = await serveHttp(scheduler, { port: 0 })
process.once('disconnect', () => void server.close().then(() => scheduler.close()))
process.send({ port: server.port })
// Asked for what it has used of the processor so far, in microseconds.
process.on('message', () => process.send({ cpu: process.cpuUsage() }))
