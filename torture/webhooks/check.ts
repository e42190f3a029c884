import { sqlite } from 'pawl/sqlite'
import type { Store } from 'pawl/store'
import { digestOf, isSignedWith, type Received } from './receiver.ts'
import { CLOSES_WITHIN_MS, type Made, type Seen, SPEED, type Subscription, TOLD_WITHIN_MS, untoldOf } from './trial.ts'

/** What comes after the first attempt, as documented. */
const DELAYS_MS = [5_000, 15_000, 45_000]
const ATTEMPTS_MAX = 4

/** Posts to one endpoint at once; and as many whose end the other side has not seen yet. */
const OPEN_MAX = 2 * 4

/** A timestamp has whole seconds. */
const ROUNDED_MS = 1_000

/**
 * By the sender's clock. An answer that it did not hear in this time says nothing to it: on a machine without time, one that the
 * receiver has given at once may come too late.
 */
const HEARD_WITHIN_MS = 10_000 * SPEED

const MEMORY_MAX_MB = 350

export interface Checked {
  readonly faults: readonly string[]
  readonly counts: Readonly<Record<string, number>>
}

type Stored = Awaited<ReturnType<Store['listDeliveries']>>['items']

/** Compares what the receivers saw with what was executed, and with what is stored. */
export async function checkTrial(seen: Seen): Promise<Checked> {
  const faults: string[] = []
  const store = await sqlite(seen.file).open()
  let attempts = 0
  let arrived = 0
  try {
    for (const subscription of seen.subscriptions) {
      const made = seen.made.find(({ name }) => name === subscription.name)
      const stored = await deliveriesOf(store, made)
      const complain = (fault: string) => faults.push(`the receiver that ${subscription.name}: ${fault}`)
      checkSubscription(seen, subscription, made, stored, complain)
      attempts += stored.reduce((sum, delivery) => sum + delivery.attempts, 0)
      arrived += stored.filter(({ status }) => status === 'DELIVERED').length
    }
    for (const { invariant, findings } of await store.checkInvariants(seen.now)) {
      for (const { severity, message } of findings) if (severity === 'fault') faults.push(`${invariant}: ${message}`)
    }
  } finally {
    await store.close()
  }
  faults.push(...checkSender(seen))
  const hostile = seen.subscriptions.filter(({ receiver }) => receiver?.behaviour.kind !== 'good').length
  return { faults, counts: { jobs: seen.jobs.length, 'hostile receivers': hostile, attempts, delivered: arrived } }
}

function checkSender({ forbiddenConnections, closedMs, memoryMb, jobs, enqueued }: Seen): string[] {
  const faults: string[] = []
  if (forbiddenConnections > 0)
    faults.push(`${forbiddenConnections} connections were made to an address that is refused`)
  if (closedMs === null || closedMs > CLOSES_WITHIN_MS) {
    faults.push(`closing took ${closedMs === null ? 'for ever' : `${Math.round(closedMs)} ms`} while posts hung`)
  }
  if (memoryMb > MEMORY_MAX_MB) faults.push(`the sender has ${Math.round(memoryMb)} MB of memory`)
  if (jobs.length < enqueued)
    faults.push(`${enqueued - jobs.length} of ${enqueued} Jobs did not end while receivers hung`)
  return faults
}

async function deliveriesOf(store: Store, made: Made | undefined): Promise<Stored> {
  if (made?.webhookId === undefined) return []
  return (await store.listDeliveries({ webhookId: made.webhookId, limit: 200 })).items
}

function checkSubscription(
  seen: Seen,
  { receiver, url, name }: Subscription,
  made: Made | undefined,
  stored: Stored,
  complain: (fault: string) => void,
): void {
  if (receiver === null) {
    if (name === 'is at a forbidden address' && made?.refused === undefined) complain(`${url} was saved`)
    if (stored.some(({ status }) => status === 'DELIVERED')) complain('is said to have been told')
    return
  }
  if (made?.secret === undefined) return complain(`was refused: ${made?.refused ?? 'nothing was heard of it'}`)
  const { behaviour, received, openMost } = receiver
  if (openMost > OPEN_MAX && behaviour.isDeaf !== true) complain(`${openMost} posts came at once`)
  checkMessages(received, made.secret, behaviour.asksToWait === true, complain)
  if (behaviour.kind === 'good') checkTold(seen, received, stored, complain)
  if (behaviour.kind === 'fails' || behaviour.kind === 'hangs') {
    for (const { status, attempts } of stored) {
      if (status === 'DELIVERED') complain('is said to have been told')
      if (attempts > ATTEMPTS_MAX) complain(`${attempts} attempts are recorded`)
      if (status === 'FAILED' && attempts !== ATTEMPTS_MAX) complain(`was given up after ${attempts} attempts`)
    }
  }
  // Each message is tried at least once, and soon, unless four others to this one hang.
  const soonMs = (TOLD_WITHIN_MS + CLOSES_WITHIN_MS) * SPEED
  const untried = stored.filter(({ attempts, createdAt }) => attempts === 0 && seen.now - createdAt > soonMs)
  if (behaviour.kind !== 'hangs' && untried.length > 0)
    complain(`I14: ${untried.length} messages were not tried at all`)
}

/** The same id has the same body each time, is signed, and comes when it should. */
function checkMessages(
  received: readonly Received[],
  secret: string,
  asksToWait: boolean,
  complain: (fault: string) => void,
): void {
  for (const id of new Set(received.map((message) => message.id))) {
    const messages = received.filter((message) => message.id === id)
    if (id === '') complain('I14: a message came without an id')
    if (new Set(messages.map(({ body }) => digestOf(body))).size > 1) complain(`I14: ${id} came with several bodies`)
    if (!messages.every((message) => isSignedWith(secret, message))) complain(`${id} is not signed with its secret`)
    if (messages.length > ATTEMPTS_MAX) complain(`${id} came ${messages.length} times`)
    // When each was sent, as it says itself: when it was read may be later by any time.
    const sentAt = messages.map(({ timestamp }) => Number(timestamp) * 1_000).toSorted((a, b) => a - b)
    sentAt.slice(1).forEach((at, index) => {
      const gapMs = at - (sentAt[index] ?? 0) + ROUNDED_MS
      if (gapMs < (DELAYS_MS[index] ?? 0))
        complain(`attempt ${index + 2} of ${id} was sent after ${gapMs} ms, too early`)
      if (asksToWait && gapMs < HEARD_WITHIN_MS) complain(`${id} came again, though it was asked to wait`)
    })
  }
}

/** Everything that happened, in time, whatever others did. */
function checkTold(
  { jobs }: Seen,
  received: readonly Received[],
  stored: Stored,
  complain: (fault: string) => void,
): void {
  for (const { jobId, event } of untoldOf(jobs, received)) {
    const row = stored.find((delivery) => delivery.jobId === jobId && delivery.event === event)
    complain(`I14: did not hear of ${event} of ${jobId} within ${TOLD_WITHIN_MS} ms: ${JSON.stringify(row ?? null)}`)
  }
}
