import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { postgres } from 'pawl/postgres'
import { sqlite } from 'pawl/sqlite'
import type { Campaign, Conditions, Outcome } from '../campaign.ts'
import { tortureFile } from '../package-root.ts'
import { startServer } from '../servers/server.ts'
import { findDrift, isQuiet, type Sample, summarise } from './samples.ts'

/** A node that has more to do than it can is not what is looked at. */
const JOBS_PER_SECOND = { sqlite: 100, postgres: 40 } as const

/** So many samples, whatever the time; but none of less than half a second. */
const SAMPLES = 120
const SAMPLE_MIN_MS = 500

/** A run that is shorter says nothing about what is flat: everything begins small. */
const JUDGED_FROM_MINUTES = 5

const ENDS_WITHIN_MS = 60_000
const INTERRUPTED_WITHIN_MS = 5_000

export const soak: Campaign = {
  name: 'soak',
  about: 'a steady load of all kinds, under which memory, waits, and the file must stay flat',
  amount: { name: 'minutes', usual: 60, short: 0.05 },
  stores: ['sqlite', 'postgres'],
  run: async (conditions) => {
    const folder = mkdtempSync(join(tmpdir(), 'pawl-soak-'))
    const server = conditions.store === 'postgres' ? await startServer({ settings: { fsync: 'on' } }) : null
    try {
      return await runSoak(conditions, server?.url ?? join(folder, 'pawl.db'))
    } finally {
      await server?.remove()
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    }
  },
}

type Message =
  | { readonly kind: 'ready' | 'ended' }
  | { readonly kind: 'complaint'; readonly text: string }
  | ({ readonly kind: 'sample' } & Omit<Sample, 'machineMs'>)

async function runSoak({ amount, seed, store, progress, signal }: Conditions, address: string): Promise<Outcome> {
  const wholeMs = amount * 60_000
  const jobsPerSecond = JOBS_PER_SECOND[store]
  const sampleMs = Math.max(SAMPLE_MIN_MS, wholeMs / SAMPLES)
  const receiver = await openReceiver()
  const samples: Sample[] = []
  const lateness = monitorEventLoopDelay({ resolution: 10 })
  lateness.enable()
  const faults = new Set<string>()
  // Ctrl-C ends the campaign, and that ends its node, in order.
  const child = fork(tortureFile('soak/node.mjs'), { detached: true })
  const ended = new Promise<void>((resolve) => void child.once('exit', () => resolve()))
  const ready = new Promise<void>((resolve) => {
    child.on('message', (message: Message) => {
      if (message.kind === 'ready') resolve()
      if (message.kind === 'sample') {
        samples.push({ ...message, machineMs: lateness.percentile(99) / 1e6 })
        lateness.reset()
      }
      if (message.kind === 'complaint') faults.add(`the node said: ${message.text}`)
    })
  })
  let doneMs = 0
  try {
    // What is older than a tenth of the run is removed: so from then on there is always as much.
    const keepMs = Math.max(1_000, Math.round(wholeMs / 10))
    tell(child, { address, seed, jobsPerSecond, sampleMs, keepMs, receiver: receiver.url })
    await Promise.race([ready, ended])
    const startedAt = performance.now()
    while (doneMs < wholeMs && !signal.aborted && howEnded(child) === null) {
      await delay(Math.min(1_000, wholeMs - doneMs), undefined, { signal }).catch(() => {})
      doneMs = Math.min(wholeMs, performance.now() - startedAt)
      progress.done(doneMs / 60_000)
    }
    for (const fault of await endNode(child, ended, signal)) faults.add(fault)
    for (const fault of await examine(address)) faults.add(fault)
  } finally {
    child.kill('SIGKILL')
    await receiver.close()
  }
  const minutes = doneMs / 60_000
  if (minutes >= JUDGED_FROM_MINUTES) for (const drift of findDrift(samples)) faults.add(drift)
  const jobs = samples.reduce((sum, sample) => sum + sample.ended, 0)
  // The first samples come late. On a machine without time for it, it need only go on.
  const jobsLeast = isQuiet(samples) ? Math.max(1, ((minutes - 0.5) * 60 * jobsPerSecond) / 2) : 1
  if (!signal.aborted && jobs < jobsLeast) faults.add(`I15: only ${jobs} Jobs were executed`)
  const replay = `soak --minutes ${amount} --store ${store} --seed ${seed}`
  return {
    done: Math.round(minutes * 100) / 100,
    trials: samples.length,
    counts: { jobs, samples: samples.length, webhooks: receiver.count(), ...summarise(samples) },
    violations: faults.size === 0 ? [] : [{ replay, messages: [...faults] }],
  }
}

function howEnded({ exitCode, signalCode }: ChildProcess): number | string | null {
  return signalCode ?? exitCode
}

/** Whether it has heard it is seen by what it does, or that it has ended. */
function tell(child: ChildProcess, message: object): void {
  child.send(message, () => {})
}

async function endNode(child: ChildProcess, ended: Promise<void>, signal: AbortSignal): Promise<string[]> {
  const how = howEnded(child)
  if (how !== null) {
    // Ctrl-C may reach it before it is in a group of its own, and be heard here only after that.
    if (how === 'SIGINT') await delay(INTERRUPTED_WITHIN_MS, undefined, { signal }).catch(() => {})
    return signal.aborted ? [] : [`the node ended with ${how} by itself`]
  }
  tell(child, { kind: 'end' })
  const isEnded = await Promise.race([ended.then(() => true), delay(ENDS_WITHIN_MS, false)])
  return isEnded ? [] : [`told to end, the node did not within ${ENDS_WITHIN_MS} ms`]
}

/** What is wrong with what it left. */
async function examine(address: string): Promise<string[]> {
  const store = await (address.startsWith('postgres:') ? postgres(address) : sqlite(address)).open()
  try {
    const checked = await store.checkInvariants(Date.now())
    return checked.flatMap(({ invariant, findings }) =>
      findings.filter(({ severity }) => severity === 'fault').map(({ message }) => `${invariant}: ${message}`),
    )
  } finally {
    await store.close()
  }
}

async function openReceiver(): Promise<{ url: string; count: () => number; close: () => Promise<void> }> {
  let count = 0
  const server = createServer((request, response) => {
    count++
    request.resume().on('end', () => response.writeHead(204).end())
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const close = () => {
    server.closeAllConnections()
    return new Promise<void>((resolve) => void server.close(() => resolve()))
  }
  return { url: `http://127.0.0.1:${port}/hook`, count: () => count, close }
}
