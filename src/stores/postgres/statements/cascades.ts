import type { Connection } from '../connection.ts'
import type { Cascade, Transaction } from '../transaction.ts'
import { writeDeliveries } from './ended.ts'
import { countSettledMembers } from './members.ts'
import { findLiveNodeSeq } from './nodes.ts'
import { orderMembers } from './order-members.ts'
import { reviveDependents, tellDependents } from './tell-dependents.ts'

/** Who carries out a cascade: what needs a Run needs a node, and what makes Jobs needs ids. */
export interface Actor {
  readonly nodeSeq: number | null
  readonly newId: (() => string) | null
}

/** A process that is no node, such as one that only cancels. */
export const NOBODY: Actor = { nodeSeq: null, newId: null }

/** How far a page of a cascade came. */
export interface Page {
  readonly cursor: number
  readonly isLast: boolean
}

/** As many dependents and members are dealt with at once, in the transaction that concerns them. The rest is stored. */
const AT_ONCE_MAX = 128

/** Carries out what follows from what this transaction did, and writes what was put off to its end. */
export async function carryOut(transaction: Transaction, actor: Actor, now: number): Promise<void> {
  await carryOutCascades(transaction, actor, now)
  await conclude(transaction, now)
}

/**
 * Carries out what follows from the chains that have settled in this transaction. Few dependents and members are released,
 * cancelled or skipped at once, so that nobody sees a state in between; what concerns many is stored and done in pages.
 */
export async function carryOutCascades(transaction: Transaction, actor: Actor, now: number): Promise<void> {
  for (;;) {
    await noteDependents(transaction, now)
    const cascade = transaction.cascades.shift()
    if (cascade === undefined) return
    const room = AT_ONCE_MAX - transaction.cascaded
    if (room <= 0 || !canActOn(cascade, actor) || (await hasStored(transaction.connection, cascade))) {
      await storeCascade(transaction, cascade, 0, now)
      continue
    }
    const page = await applyPage(transaction, cascade, 0, room, actor, now)
    if (!page.isLast) await storeCascade(transaction, cascade, page.cursor, now)
  }
}

/**
 * The last step of a transaction that ends Jobs: groups are counted, and what is to be told is written. From here on it waits
 * for no chain any more.
 */
export async function conclude(transaction: Transaction, now: number): Promise<void> {
  for (const cascade of await countSettledMembers(transaction)) await storeCascade(transaction, cascade, 0, now)
  await writeDeliveries(transaction)
}

function canActOn(cascade: Cascade, actor: Actor): boolean {
  if (cascade.kind === 'skip') return actor.nodeSeq !== null && actor.newId !== null
  return cascade.kind !== 'revived' || actor.newId !== null
}

// One row per chain to whose end somebody listens. When the order of its group is over, only those listen that named it:
// there is at most one member behind it, so at most one row is passed over. Rows follow the order in which they settled.
const SELECT_AWAITED = `
select given.chain_id, exists (select 1 from pawl.cascades c where c.subject = given.chain_id) as has_stored
from unnest($1::text[], $2::bigint[], $3::boolean[]) with ordinality as given (chain_id, chain_seq, is_order_over, place)
where exists (
  select 1
  from pawl.dependencies d
  where d.parent_seq = given.chain_seq and d.met = 0 and not (given.is_order_over and d.of_group)
)
order by given.place`

/** Of the chains that have settled, those that somebody waits for become cascades. */
async function noteDependents(transaction: Transaction, now: number): Promise<void> {
  const { settled } = transaction
  if (settled.length === 0) return
  transaction.settled = []
  const awaited = await transaction.connection.all<{ chain_id: string; has_stored: boolean }>(
    SELECT_AWAITED,
    settled.map(({ chainId }) => chainId),
    settled.map(({ chainSeq }) => chainSeq),
    settled.map(({ isOrderOver }) => isOrderOver),
  )
  for (const { chain_id, has_stored } of awaited) {
    const cascade: Cascade = { kind: 'settled', subject: chain_id, mode: null, reason: null }
    if (has_stored) await storeCascade(transaction, cascade, 0, now)
    else transaction.cascades.push(cascade)
  }
}

const HAS_STORED = 'select 1 as found from pawl.cascades where subject = $1 limit 1'

/**
 * Cascades of one chain or group apply in order: a new one waits for those that are stored. Whoever orders something for
 * the dependents of a chain has that chain locked, so none can be stored unseen; of orders for the members of a group it
 * does not matter which comes first.
 */
async function hasStored(connection: Connection, { kind, subject }: Cascade): Promise<boolean> {
  // Of these it was seen when they were noted.
  return kind !== 'settled' && (await connection.get(HAS_STORED, subject)) !== undefined
}

const INSERT_CASCADE = `
insert into pawl.cascades (kind, subject, mode, reason, cursor, created_at)
values ($1, $2, $3, $4, $5, $6)`

async function storeCascade(transaction: Transaction, cascade: Cascade, cursor: number, now: number): Promise<void> {
  const { kind, subject, mode, reason } = cascade
  await transaction.connection.run(INSERT_CASCADE, kind, subject, mode, reason, cursor, now)
  transaction.stirs.add('cascades')
}

const HAS_ANY = 'select 1 as found from pawl.cascades limit 1'

export async function hasCascades(connection: Connection): Promise<boolean> {
  return (await connection.get(HAS_ANY)) !== undefined
}

// The oldest one that nobody else carries out, and that has none of its subject before it. It stays locked until its page
// is committed.
const TAKE_OLDEST = `
select c.cascade_seq, c.kind, c.subject, c.mode, c.reason, c.cursor
from pawl.cascades c
where not exists (
  select 1
  from pawl.cascades earlier
  where earlier.subject = c.subject and earlier.cascade_seq < c.cascade_seq
)
order by c.cascade_seq
limit 1
for update of c skip locked`

interface CascadeRow {
  cascade_seq: number
  kind: Cascade['kind']
  subject: string
  mode: Cascade['mode']
  reason: string | null
  cursor: number
}

const DELETE_CASCADE = 'delete from pawl.cascades where cascade_seq = $1'

// A long one steps behind the others, unless that would bring it behind a later one of the same subject.
const MOVE_ON = 'update pawl.cascades set cursor = $2 where cascade_seq = $1'
const STEP_BACK = `
update pawl.cascades c
set cascade_seq = default
where c.cascade_seq = $1
  and not exists (select 1 from pawl.cascades later where later.subject = c.subject and later.cascade_seq > c.cascade_seq)`

/** Carries out stored cascades, the oldest first, until a page of dependents and members is full. */
export async function applyCascade(
  transaction: Transaction,
  request: { readonly nodeId: string; readonly newId: () => string; readonly limit: number; readonly now: number },
): Promise<'applied' | 'idle'> {
  const { connection } = transaction
  const { now, limit, newId } = request
  const nodeSeq = await findLiveNodeSeq(connection, request.nodeId)
  if (nodeSeq === null) return 'idle'
  const first = transaction.cascaded
  let cascades = 0
  for (; ; cascades++) {
    // Each counts for at least one, so that many with nothing to do do not make a long transaction.
    const room = limit - Math.max(cascades, transaction.cascaded - first)
    const row = room > 0 ? await connection.get<CascadeRow>(TAKE_OLDEST) : undefined
    if (row === undefined) break
    await applyStored(transaction, row, room, { nodeSeq, newId }, now)
  }
  await conclude(transaction, now)
  return cascades === 0 ? 'idle' : 'applied'
}

async function applyStored(
  transaction: Transaction,
  row: CascadeRow,
  room: number,
  actor: Actor,
  now: number,
): Promise<void> {
  const { connection } = transaction
  const page = await applyPage(transaction, row, row.cursor, room, actor, now)
  if (page.isLast) await connection.run(DELETE_CASCADE, row.cascade_seq)
  else {
    await connection.run(MOVE_ON, row.cascade_seq, page.cursor)
    await connection.run(STEP_BACK, row.cascade_seq)
  }
  await carryOutCascades(transaction, actor, now)
}

function applyPage(
  transaction: Transaction,
  cascade: Cascade,
  cursor: number,
  limit: number,
  actor: Actor,
  now: number,
): Promise<Page> {
  switch (cascade.kind) {
    case 'settled':
      return tellDependents(transaction, cascade.subject, cursor, limit, now)
    case 'revived':
      return reviveDependents(transaction, cascade.subject, cursor, limit, actor, now)
    case 'stop':
    case 'stop-behind':
    case 'skip':
    case 'cancel':
      return orderMembers(transaction, cascade, cursor, limit, actor, now)
  }
}
