// The least that a server with the same contract does: fastify reads the body as JSON, the same schema checks it, and it is
// sent back. Nothing is stored.
import fastify from 'fastify'
import { enqueueJob } from '../../dist/http/contract/jobs.js'

const app = fastify({ logger: false })
app.post('/api/jobs', async (request, reply) => {
  const checked = enqueueJob.body.safeParse(request.body)
  if (!checked.success) return reply.code(422).send(checked.error)
  return reply.code(201).send(checked.data)
})
await app.listen({ host: '127.0.0.1', port: 0 })
process.once('disconnect', () => void app.close())
process.send({ port: app.server.address().port })
// Asked for what it has used of the processor so far, in microseconds.
process.on('message', () => process.send({ cpu: process.cpuUsage() }))
