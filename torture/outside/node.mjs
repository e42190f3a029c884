// A node as a process of its own. Its argument is a plan:
//   place        where the store is: see place.ts
//   folder       where it keeps its record, and where the files lie that let waiting bodies go
//   name         what it is called; its bodies are noted in the file `<name>.record`
//   types        the types that it handles: { type, resources?, concurrency? }
//   retry        the retry policy of all of them
//   resources    how many permits each resource has
//   concurrency  how many bodies it executes at once
//   dieAt        null, or { point, passing }: it kills itself when it passes this fault point for the n-th time
// What a body does is in its params: see `Order` in workload.ts. It tells what else happens on its standard output, one JSON
// object per line.
import { existsSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { defineJob, NonRetryableError, openScheduler } from 'pawl'
import { onFaultPoint } from 'pawl/testing'
import { sourceOf } from './source-of.mjs'

const plan = JSON.parse(process.argv[2])
const { place, folder, name, types, retry, resources, concurrency, dieAt = null } = plan

const tell = (what) => writeSync(1, `${JSON.stringify(what)}\n`)

const record = openSync(join(folder, `${name}.record`), 'a')

// A clock that all processes of the machine share.
const sharedNow = () => Number(process.hrtime.bigint()) / 1e6

/** One write each, so that a line is there whole or not at all, whatever becomes of this process. */
const write = (line) => writeSync(record, `${JSON.stringify(line)}\n`)

function note(what, type, { params, jobId, runId, attempt }, how = null) {
  const [at, wall] = [sharedNow(), Date.now()]
  write({ is: 'body', at, wall, node: name, what, type, n: params.n, jobId, runId, attempt, how })
}

/** A body that is noted when it begins, and when and how it ends. */
const noted = (type) => async (context) => {
  note('began', type, context)
  try {
    const result = await perform(context)
    note('ended', type, context, context.params.does === 'skips' ? 'skipped' : 'returned')
    return result
  } catch (error) {
    note('ended', type, context, context.signal.aborted ? `aborted: ${context.signal.reason.cause}` : 'threw')
    throw error
  }
}

async function perform({ params, attempt, signal, enqueue, skip }) {
  const { n, does, ms = 0 } = params
  // Some hear their abort, others do not.
  if (ms > 0) await after(ms, null, n % 2 === 0 ? { signal } : {})
  switch (does) {
    case 'completes':
      return n
    case 'falters':
      if (attempt <= params.times) throw new Error(`Attempt ${attempt} of ${n} falters.`)
      return n
    case 'fails':
      throw new Error(`Attempt ${attempt} of ${n} fails.`)
    case 'refuses':
      throw new NonRetryableError(`Attempt ${attempt} of ${n} refuses.`)
    case 'skips':
      return skip(`${n} is not needed.`)
    case 'spawns':
      await enqueue(params.follow.type, params.follow.order)
      return n
    // Its process stops itself when this body has ended, and before its outcome is written.
    case 'stops':
      if (attempt === 1) onFaultPoint(stopAfterBody)
      return n
    // Nothing else happens in its process meanwhile.
    case 'computes':
      for (const end = performance.now() + params.forMs; performance.now() < end; );
      return n
    // Until it may go; it hears no abort.
    case 'waits':
      while (!mayGo(n)) await after(5)
      return name
    // The same, but it hears its abort.
    case 'heeds':
      while (!mayGo(n)) await after(5, null, { signal })
      return name
  }
}

function stopAfterBody(point) {
  if (point !== 'executor:body-ended') return
  onFaultPoint(null)
  tell({ stopped: true })
  process.kill(process.pid, 'SIGSTOP')
}

const mayGo = (n) => existsSync(join(folder, `go-${n}`))

if (dieAt !== null) {
  let left = dieAt.passing
  onFaultPoint((point) => {
    if (point !== dieAt.point || --left > 0) return
    tell({ died: point })
    write({ is: 'killed', node: name, at: sharedNow() })
    process.kill(process.pid, 'SIGKILL')
  })
}

// Whoever started it is gone: so must it be.
process.stdin.resume()
process.stdin.on('close', () => process.exit(1))

const scheduler = await openScheduler({
  store: await sourceOf(place),
  jobs: types.map((type) => defineJob({ ...type, retry, run: noted(type.type) })),
  resources,
  concurrency,
  name,
  handleSignals: true,
  webhooks: { allowPrivate: ['127.0.0.1'] },
  logger: {
    info: (_fields, message) => tell({ informed: message }),
    warn: (_fields, message) => tell({ warned: message }),
    error: (fields, message) => tell({ error: message, fields: String(fields.error) }),
  },
})
scheduler.on('node.recovered', ({ node, stats }) => tell({ recovered: node.name, stats }))
scheduler.on('run.late', ({ claim, ended }) => tell({ late: claim.jobId, ended }))
tell({ started: await scheduler.start(), nodeId: scheduler.nodeId })
