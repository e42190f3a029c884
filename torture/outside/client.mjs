// Somebody who asks, as a process of its own. It may be killed at any moment; whoever comes in its place goes on where it was:
// what has a key and was not answered is asked for again, everything else that was not answered never is.
// Its argument is a plan:
//   place       where the store is
//   folder      where it keeps its record
//   name        what it is called: `<by>.<life>`
//   by          whose list it is; earlier processes with the same list are those whose names begin so
//   acts        the file with the list of what to do: see `Act` in workload.ts
//   parallel    how much it does at once
//   everyMs     how long it waits between two acts
//   backlogMax  it asks for no more while so many are queued
//   dieAt       null, or { point, passing }: it kills itself when it passes this fault point for the n-th time
//   networkFails  whether an error of the connection is to be expected, after which nobody knows what was done
import { fsyncSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as after, setImmediate as immediate } from 'node:timers/promises'
import { openScheduler } from 'pawl'
import { onFaultPoint } from 'pawl/testing'
import { sourceOf } from './source-of.mjs'

const plan = JSON.parse(process.argv[2])
const { place, folder, name, by, parallel, everyMs, backlogMax = null, networkFails = false, dieAt = null } = plan

const tell = (what) => writeSync(1, `${JSON.stringify(what)}\n`)
const sharedNow = () => Number(process.hrtime.bigint()) / 1e6

process.stdin.resume()
process.stdin.on('close', () => process.exit(1))

const acts = JSON.parse(readFileSync(plan.acts, 'utf8'))

/** What was written by those who had this list before. The last line of each may have been cut off. */
const before = readdirSync(folder)
  .filter((file) => file.startsWith(`${by}.`) && file.endsWith('.record'))
  .flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n').slice(0, -1))
  .map((line) => JSON.parse(line))
const jobIds = new Map(before.filter(({ is }) => is === 'ack').map(({ n, jobId }) => [n, jobId]))
const asked = new Set(before.filter(({ is }) => is === 'asked').map(({ act }) => act))
const refused = new Set(before.filter(({ is }) => is === 'refused').map(({ act }) => act))

const record = openSync(join(folder, `${name}.record`), 'a')
let lines = []
let flushing = null

/** Resolves when they would survive a loss of power. */
function write(...more) {
  lines.push(...more.map((line) => `${JSON.stringify(line)}\n`))
  flushing ??= immediate().then(() => {
    flushing = null
    writeSync(record, lines.splice(0).join(''))
    fsyncSync(record)
  })
  return flushing
}

if (dieAt !== null) {
  let left = dieAt.passing
  onFaultPoint((point) => {
    if (point !== dieAt.point || --left > 0) return
    tell({ died: point })
    process.kill(process.pid, 'SIGKILL')
  })
}

const scheduler = await openScheduler({
  store: await sourceOf(place),
  name,
  logger: { info: () => {}, warn: () => {}, error: () => {} },
})

const isKeyed = ({ requests }) => requests?.every(({ options }) => options.idempotencyKey !== undefined) ?? false

/** Of an act that was asked for and not answered, nobody knows whether it was done. */
function mayAsk(act, index) {
  if (refused.has(index)) return false
  return isKeyed(act) ? !act.requests.every(({ order }) => jobIds.has(order.n)) : !asked.has(index)
}

function known(requests) {
  const own = new Set(requests.map(({ order }) => order.n))
  return Object.fromEntries(
    requests.map(({ order, parents }) => [order.n, parents.filter((n) => own.has(n) || jobIds.has(n))]),
  )
}

function toItem({ type, order, options }, parents, own) {
  const dependsOn = parents.map((n) => (own.has(n) ? `#${n}` : jobIds.get(n)))
  const { onParentFailure, ...rest } = options
  const waiting = dependsOn.length > 0 ? { dependsOn, onParentFailure } : {}
  return { type, params: order, ref: `${order.n}`, ...rest, ...waiting }
}

async function call(act, parents) {
  const own = new Set(act.requests.map(({ order }) => order.n))
  const items = act.requests.map((request) => toItem(request, parents[request.order.n], own))
  if (act.kind === 'group') {
    const { jobs } = await scheduler.groups.create({ mode: act.mode, onFailure: act.onFailure, jobs: items })
    return jobs
  }
  if (act.kind === 'many') return scheduler.enqueueMany(items)
  const [{ type, params, ref: _ref, ...options }] = items
  return [await scheduler.enqueue(type, params, options)]
}

async function ask(act, index) {
  const parents = known(act.requests)
  await write({ is: 'asked', at: sharedNow(), by, act: index, parents })
  for (;;) {
    const askedAt = sharedNow()
    const jobs = await answered(() => call(act, parents), index, askedAt, isKeyed(act))
    if (jobs === 'again') continue
    if (jobs === null) return
    const acks = act.requests.map(({ order }, place) => {
      return { is: 'ack', n: order.n, jobId: jobs[place].jobId, askedAt, answeredAt: sharedNow() }
    })
    await write(...acks)
    for (const { n, jobId } of acks) jobIds.set(n, jobId)
    return
  }
}

/** What came; null when it was refused, or when nobody knows. `again`: it can be asked for once more, as it has a key. */
async function answered(work, index, askedAt, isRepeatable = false) {
  try {
    return await work()
  } catch (error) {
    const isLost = networkFails && (error?.name !== 'PawlError' || error.code === 'database_unavailable')
    if (isLost && isRepeatable) {
      await after(50)
      return 'again'
    }
    // A request that was lost on its way may have been carried out.
    if (isLost) return null
    const code = error?.code ?? String(error)
    await write({ is: 'refused', by, act: index, askedAt, answeredAt: sharedNow(), code })
    return null
  }
}

async function cancel({ n, mode }, index) {
  const jobId = jobIds.get(n)
  if (jobId === undefined) return
  const askedAt = sharedNow()
  await write({ is: 'asked', at: askedAt, by, act: index })
  const done = await answered(() => scheduler.cancel(jobId, { mode }), index, askedAt)
  if (done !== null) await write({ is: 'cancelled', n, ...done, askedAt, answeredAt: sharedNow() })
}

/** When its chain has settled; what takes too long is left alone. */
async function retry({ n }, index) {
  const jobId = jobIds.get(n)
  if (jobId === undefined) return
  const deadline = sharedNow() + 3_000
  for (;;) {
    const chain = await scheduler.getChain(jobId).catch(() => null)
    if (chain?.settled && chain.outcome !== 'FAILED' && chain.outcome !== 'CANCELLED') return
    if (sharedNow() > deadline) return
    if (chain?.settled) {
      const askedAt = sharedNow()
      await write({ is: 'asked', at: askedAt, by, act: index })
      const done = await answered(() => scheduler.retry(chain.items.at(-1).jobId), index, askedAt)
      if (done !== null) await write({ is: 'retried', n, ...done, askedAt, answeredAt: sharedNow() })
      return
    }
    await after(50)
  }
}

async function direct({ type, order }, index) {
  const askedAt = sharedNow()
  await write({ is: 'asked', at: askedAt, by, act: index })
  const answer = (about) =>
    write({ is: 'direct', n: order.n, result: null, askedAt, answeredAt: sharedNow(), ...about })
  try {
    const { reservationId, result, skipped } = await scheduler.runDirect(type, order, { waitTimeoutMs: 4_000 })
    await answer({ reservationId, how: skipped === null ? 'returned' : 'skipped', result })
  } catch (error) {
    if (networkFails && (error?.name !== 'PawlError' || error.code === 'database_unavailable')) return
    const { reservationId = null, reason } = error?.details ?? {}
    await answer({
      reservationId,
      how: error?.code === 'direct_failed' ? `failed: ${reason}` : (error?.code ?? String(error)),
    })
  }
}

function perform(act, index) {
  if (!mayAsk(act, index)) return null
  switch (act.kind) {
    case 'cancel':
      return cancel(act, index)
    case 'retry':
      return retry(act, index)
    case 'direct':
      return direct(act, index)
    default:
      return ask(act, index)
  }
}

async function hasRoom() {
  while (backlogMax !== null && (await scheduler.statistics()).queue.queued >= backlogMax) await after(20)
}

tell({ begun: acts.length })
const underWay = new Set()
for (const [index, act] of acts.entries()) {
  const work = perform(act, index)
  if (work === null) continue
  const end = work.finally(() => underWay.delete(end))
  underWay.add(end)
  while (underWay.size >= parallel) await Promise.race(underWay)
  if (everyMs > 0) await after(everyMs)
  if (index % 20 === 0) await hasRoom()
}
await Promise.all(underWay)
await scheduler.close()
tell({ done: true })
process.exit(0)
