import { limitsTaken, resourceLimit } from '../domain/limits.ts'
import { TICKET_EXPIRES_MS } from '../domain/reservation.ts'
import { type Finding, type ReadyLane, ROWS_LISTED_MAX, type StoreVitals } from '../store/checks.ts'
import type { LimitRecord } from '../store/maintenance.ts'
import type { NodeRecord } from '../store/nodes.ts'
import type { OperationContext } from './context.ts'
import { type Check, checkOf } from './examination.ts'

/** Instants this much ahead of the clock are not worth a word. */
const CLOCK_TOLERANCE_MS = 5_000

/** Where a place and permits are free, a ready Job starts within milliseconds. */
const READY_TOO_LONG_MS = 3_600_000

/** After its timeout a body's outcome is written at once, unless its process is blocked, suspended or dead. */
const BEYOND_TIMEOUT_MS = 60_000

const CASCADE_TOO_OLD_MS = 60_000
const OPERATION_TOO_STILL_MS = 60_000
const DELIVERY_TOO_LATE_MS = 600_000
const SLOT_TOO_LATE_MS = 120_000
const LOG_TOO_LARGE_BYTES = 256 * 1024 * 1024
const FREE_TOO_LITTLE_BYTES = 64 * 1024 * 1024
const PAGE = 200

/** What is needed to tell what is alive and what is stuck. */
interface Health {
  readonly now: number
  readonly vitals: StoreVitals
  readonly living: readonly NodeRecord[]
  readonly dead: readonly NodeRecord[]
  readonly limits: readonly LimitRecord[]
  readonly hasTickets: boolean
}

/** What no single row can contradict: clocks, nodes, what is stuck, and room to write. */
export async function examineHealth(context: OperationContext): Promise<Check[]> {
  const { store, clock } = context
  const { living, dead } = await tellNodesApart(context)
  const tickets = (await store.listReservations({ status: 'WAITING', limit: PAGE })).items
  const limits = await store.listLimits()
  // The present comes last: nothing that was written before it can be in its future.
  const vitals = await store.readVitals(clock.now())
  const now = clock.now()
  const health: Health = { now, vitals, living, dead, limits, hasTickets: tickets.length > 0 }
  return [
    checkOf('schema', 'The schema is that of this version of Pawl.', examineSchema(health)),
    checkOf('clock', 'Nothing is stored that happened in the future.', examineClock(health)),
    checkOf('nodes', 'Every node that is registered lives.', examineNodes(health)),
    checkOf('queue', 'Jobs that can start do start.', examineQueue(health)),
    checkOf('timeouts', 'No body goes on long after its timeout.', examineTimeouts(health)),
    checkOf(
      'tickets',
      'Nobody waits for a direct execution in vain.',
      warnIf(
        tickets
          .filter(({ renewedAt, callerNodeId }) => renewedAt < now - TICKET_EXPIRES_MS || isAmong(dead, callerNodeId))
          .map(({ reservationId }) => reservationId),
        {
          message: 'Tickets of direct executions wait, though whoever asked is gone. They hold others back.',
          advice: 'Start a node, or use --fix: recovery lets tickets of dead nodes expire.',
          remedy: 'recovery',
        },
      ),
    ),
    checkOf('cascades', 'Dependents and members are told.', examineCascades(health)),
    checkOf('operations', 'Bulk operations go on.', await examineOperations(context, health)),
    checkOf('deliveries', 'Webhooks are told in time.', await examineDeliveries(context, health)),
    checkOf('schedules', 'Schedules fire in time.', await examineSchedules(context, health)),
    checkOf('disk', 'There is room to write.', examineDisk(health)),
  ]
}

/** A node may leave between two looks, in good order: only who is still registered after it was found dead is dead. */
async function tellNodesApart({
  store,
}: OperationContext): Promise<{ living: readonly NodeRecord[]; dead: readonly NodeRecord[] }> {
  const living: NodeRecord[] = []
  const suspects: NodeRecord[] = []
  for (const node of await store.listNodes()) {
    ;((await store.liveness.isAlive(node.nodeId)) ? living : suspects).push(node)
  }
  if (suspects.length === 0) return { living, dead: [] }
  const registered = await store.listNodes()
  return { living, dead: suspects.filter(({ nodeId }) => isAmong(registered, nodeId)) }
}

function isAmong(nodes: readonly NodeRecord[], nodeId: string): boolean {
  return nodes.some((node) => node.nodeId === nodeId)
}

type Words = Pick<Finding, 'message' | 'advice'> & Partial<Pick<Finding, 'severity' | 'remedy'>>

function warn(words: Words, rows: readonly string[] = [], count = rows.length): Finding {
  return { severity: 'warning', remedy: null, rows: rows.slice(0, ROWS_LISTED_MAX), count, ...words }
}

function warnIf(rows: readonly string[], words: Words): Finding[] {
  return rows.length === 0 ? [] : [warn(words, rows)]
}

function examineSchema({ vitals: { schema } }: Health): Finding[] {
  if (schema.version === schema.latest) return []
  const message = `The schema has version ${schema.version}, but this Pawl works with version ${schema.latest}.`
  return [warn({ severity: 'fault', message, advice: 'Run `pawl migrate`, or use the Pawl that made it.' })]
}

function examineClock({ now, vitals }: Health): Finding[] {
  const ahead = vitals.latestInstants.filter(({ at }) => at > now + CLOCK_TOLERANCE_MS)
  return warnIf(
    ahead.map(({ what, at }) => `${what} at ${new Date(at).toISOString()}`),
    {
      message: `Things happened later than now, which is ${new Date(now).toISOString()}: a clock is wrong, or was.`,
      advice:
        'Set the clock of this machine. If it is right now, this passes by itself: Jobs and slots of that time wait for it.',
    },
  )
}

function examineNodes({ dead, living, vitals }: Health): Finding[] {
  const bodies = vitals.bodies.filter(({ nodeId }) => isAmong(dead, nodeId)).length
  return warnIf(
    dead.map(({ name, nodeId, host, pid }) => `${nodeId} (${name}, process ${pid} on ${host})`),
    {
      message: `Nodes are dead, and have left ${bodies === 1 ? '1 body' : `${bodies} bodies`} behind.`,
      advice:
        living.length === 0
          ? 'No node is alive to end what they left. Start one, or use --fix: recovery ends it as crashed, and tries it again where the policy says so.'
          : 'A living node ends what they left within seconds; look again, or use --fix.',
      remedy: 'recovery',
    },
  )
}

function examineQueue(health: Health): Finding[] {
  const { now, vitals, living } = health
  const claiming = living.filter(({ claims }) => claims)
  const unhandled = vitals.readyLanes.filter(({ type }) => !claiming.some(({ types }) => types.includes(type)))
  const stuck = vitals.readyLanes.filter((lane) => lane.since < now - READY_TOO_LONG_MS && couldStart(health, lane))
  return [
    ...warnIf(
      unhandled.map(({ type, count, jobId }) => `${type}: ${count}, the oldest is ${jobId}`),
      {
        message:
          claiming.length === 0
            ? 'Jobs are ready, but no node is started.'
            : 'Jobs are ready of types that no started node handles.',
        advice: 'Start a node that handles them: `pawl worker` with a configuration that defines these types.',
      },
    ),
    ...warnIf(
      stuck.map(({ jobId, type }) => `${jobId} (${type})`),
      {
        message: 'Jobs have been ready for more than an hour, though a node has a free place and permits for them.',
        advice: 'Ask `pawl why` about them. If nothing there explains it, report this as a bug of Pawl.',
      },
    ),
  ]
}

/** Whether a living node has a place for a Job of this lane, and the limits have permits. */
function couldStart({ vitals, living, limits, hasTickets }: Health, lane: ReadyLane): boolean {
  // Tickets are served first, and hold places and permits back.
  if (hasTickets) return false
  const isFree = ({ nodeId, concurrency }: NodeRecord) =>
    vitals.bodies.filter((body) => body.nodeId === nodeId).length < concurrency
  if (!living.some((node) => node.claims && node.types.includes(lane.type) && isFree(node))) return false
  const left = new Map(limits.map(({ name, max }) => [name, max]))
  for (const name of lane.resources.map(resourceLimit)) if (!left.has(name)) left.set(name, 1)
  for (const { type, resources } of vitals.bodies) {
    for (const name of limitsTaken(type, resources)) {
      const before = left.get(name)
      if (before !== undefined) left.set(name, before - 1)
    }
  }
  return limitsTaken(lane.type, lane.resources).every((name) => (left.get(name) ?? 1) > 0)
}

function examineTimeouts({ now, vitals, dead }: Health): Finding[] {
  const late = vitals.bodies.filter(
    ({ startedAt, timeoutMs, isEnded, nodeId }) =>
      timeoutMs !== null && !isEnded && startedAt + timeoutMs + BEYOND_TIMEOUT_MS < now && !isAmong(dead, nodeId),
  )
  return warnIf(
    late.map(({ id, type, nodeId }) => `${id} (${type}, on node ${nodeId})`),
    {
      message:
        'Bodies are still executing more than a minute after their timeout: their process is blocked or suspended.',
      advice:
        'Look at that process. If it ends, recovery takes over; `isolation: process` can always be ended in time.',
    },
  )
}

function examineCascades({ now, vitals: { cascades }, living }: Health): Finding[] {
  if (cascades === null || cascades.oldestAt > now - CASCADE_TOO_OLD_MS) return []
  const isServed = living.some(({ claims }) => claims)
  return [
    warn(
      {
        message:
          'Dependents or members of groups have not been told for more than a minute that what they wait for has ended.',
        advice: isServed
          ? 'Look at the logs of the nodes that live: they should have done so.'
          : 'Start a node: any node does it.',
      },
      [],
      cascades.count,
    ),
  ]
}

async function examineOperations({ store }: OperationContext, { now, living }: Health): Promise<Finding[]> {
  const { items } = await store.listOperations({ status: 'RUNNING', limit: PAGE })
  return warnIf(
    items
      .filter(({ updatedAt }) => updatedAt < now - OPERATION_TOO_STILL_MS)
      .map(({ operationId, kind, done }) => `${operationId} (${kind}, ${done} done)`),
    {
      message: 'Bulk operations have not gone on for more than a minute.',
      advice:
        living.length === 0
          ? 'Nobody carries them out. Start a node: any node does it. Or end them with `pawl operations abort`.'
          : 'Look at the logs of the nodes that live: they should have gone on. `pawl operations abort` ends them.',
    },
  )
}

async function examineDeliveries({ store }: OperationContext, { now, vitals }: Health): Promise<Finding[]> {
  const { dueDeliveries: due } = vitals
  const { items } = await store.listWebhooks({ limit: PAGE })
  const disabled = items.filter(({ enabled, disabledReason }) => !enabled && disabledReason !== null)
  const late =
    due === null || due.oldestAt > now - DELIVERY_TOO_LATE_MS
      ? []
      : [
          warn(
            {
              message: 'Messages to webhooks have been due for more than ten minutes.',
              advice:
                'Start a node if none is. Else their receivers are slow: `pawl webhooks` shows what they answered.',
            },
            [due.deliveryId],
            due.count,
          ),
        ]
  return [
    ...late,
    ...warnIf(
      disabled.map(({ webhookId, disabledReason }) => `${webhookId}: ${disabledReason}`),
      { message: 'Webhooks were disabled, and are told nothing.', advice: 'Mend the receiver, and enable them again.' },
    ),
  ]
}

async function examineSchedules({ store }: OperationContext, { now, living }: Health): Promise<Finding[]> {
  const late = await store.findDueSchedules(now - SLOT_TOO_LATE_MS, PAGE)
  const { items } = await store.listSchedules({ limit: PAGE, enabled: false })
  const broken = items.filter(({ disabledReason }) => disabledReason !== null)
  return [
    ...warnIf(
      late.map(({ scheduleId, name }) => `${scheduleId} (${name})`),
      {
        message: 'The next slot of schedules is more than two minutes overdue.',
        advice: living.some(({ claims }) => claims)
          ? 'Look at the logs of the nodes that live: a schedule may use a type that they do not know.'
          : 'Start a node: without one no schedule fires.',
      },
    ),
    ...warnIf(
      broken.map(({ scheduleId, name, disabledReason }) => `${scheduleId} (${name}): ${disabledReason}`),
      { message: 'Schedules were disabled because they are broken.', advice: 'Mend them, and enable them again.' },
    ),
  ]
}

function examineDisk({ vitals: { files } }: Health): Finding[] {
  if (files === null) return []
  const findings: Finding[] = []
  if (files.logBytes > LOG_TOO_LARGE_BYTES) {
    findings.push(
      warn({
        message: `The log ${files.path}-wal has ${megabytes(files.logBytes)}: somebody has been reading for very long.`,
        advice:
          'Find the program that keeps a transaction open on this database, and end it. The log then shrinks by itself.',
      }),
    )
  }
  if (files.freeBytes < FREE_TOO_LITTLE_BYTES) {
    findings.push(
      warn({
        message: `The disk of ${files.path} has ${megabytes(files.freeBytes)} left.`,
        advice: 'Make room, or prune old history with `pawl prune`. When it is full, nothing is accepted any more.',
      }),
    )
  }
  return findings
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / (1024 * 1024))} MiB`
}
