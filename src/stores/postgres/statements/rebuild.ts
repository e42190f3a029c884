import type { Derived } from '../../../store/checks.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'
import { FROM_LACKING_TAGS, IS_WRONG_TAG } from './checks/counts.ts'
import { IS_AWAITED_UNSAID, IS_FORGOTTEN } from './checks/dependencies.ts'
import { IS_HELD_BY_NOBODY, IS_WITHOUT_ITS_KEY } from './checks/keys.ts'
import { HAS_PERMITS_UNSAID, IS_STALE_PERMIT } from './checks/permits.ts'
import { CHAIN_SEQ } from './checks/pieces.ts'
import { IS_LISTED_WRONGLY, IS_UNLISTED } from './checks/runs.ts'
import { IS_LEFT_CHAIN, IS_UNKNOWN_TO_SCHEDULE } from './checks/schedules.ts'
import { lockChains } from './locks.ts'
import { recountGroups } from './rebuild-groups.ts'
import { rebuildQueue } from './rebuild-queue.ts'

/**
 * Makes anew what follows from the rest, by the same conditions by which the checks find it wrong. Others write meanwhile:
 * what was found is locked and looked at again before it is changed.
 */
export async function rebuild(transaction: Transaction, what: Derived, now: number): Promise<number> {
  const { connection } = transaction
  switch (what) {
    case 'nodes':
      return connection.run(BRING_BACK_NODES)
    case 'dependents':
      return tellDependents(transaction, now)
    case 'queue':
      return rebuildQueue(connection)
    case 'groups':
      return recountGroups(transaction, now)
    case 'tags':
      return (await connection.run(INSERT_TAGS)) + (await connection.run(DELETE_TAGS))
    case 'types':
      // The list of the Jobs of a type is an index.
      return 0
    case 'business-keys':
      return rebuildBusinessKeys(connection)
    case 'scheduled-chains':
      return rebuildScheduledChains(connection)
    case 'permits':
      return (await connection.run(SAY_HAS_PERMITS)) + (await freeStalePermits(connection))
    case 'uncompleted-runs':
      return (await connection.run(DELETE_UNCOMPLETED)) + (await connection.run(INSERT_UNCOMPLETED))
  }
}

// Rows changed: nodes that recovery will look at again.
const BRING_BACK_NODES = `
update pawl.nodes n
set ended_at = null
where n.ended_at is not null
  and (
    exists (select 1 from pawl.occupancies o where o.node_seq = n.node_seq)
    or exists (select 1 from pawl.direct_occupancies d where d.node_seq = n.node_seq)
  )`

// Rows changed: chains that will tell when they settle.
const SAY_AWAITED = `
update pawl.jobs j
set awaited = true
where ${IS_AWAITED_UNSAID}`

// Rows changed: parents whose dependents are told once more. A cascade decides by what the chain is when it is applied.
const ORDER_TO_TELL = `
insert into pawl.cascades (kind, subject, cursor, created_at)
select distinct 'settled', parent.job_id, 0, $1::bigint
from pawl.dependencies d
join pawl.jobs child on child.seq = d.child_seq
join pawl.jobs parent on parent.seq = d.parent_seq
where ${IS_FORGOTTEN}`

async function tellDependents({ connection, stirs }: Transaction, now: number): Promise<number> {
  const awaited = await connection.run(SAY_AWAITED)
  const ordered = await connection.run(ORDER_TO_TELL, now)
  if (ordered > 0) stirs.add('cascades')
  return awaited + ordered
}

// A Job that is pruned meanwhile is not listed any more.
const INSERT_TAGS = `
insert into pawl.job_tags (tag, seq)
select t.tag, j.seq
${FROM_LACKING_TAGS}
for share of j
on conflict (tag, seq) do nothing`

const DELETE_TAGS = `
delete from pawl.job_tags g
where ${IS_WRONG_TAG}`

const SELECT_WRONG_KEYS = `
select j.seq as chain_seq
from pawl.business_keys k
join pawl.jobs j on j.job_id = k.chain_id
where ${IS_HELD_BY_NOBODY}
union
select ${CHAIN_SEQ}
from pawl.jobs j
where ${IS_WITHOUT_ITS_KEY}`

// Of chains that were pruned, or are locked by us.
const FREE_KEYS = `
delete from pawl.business_keys k
where ${IS_HELD_BY_NOBODY}
  and coalesce((select first.seq from pawl.jobs first where first.job_id = k.chain_id) = any($1::bigint[]), true)`

// A key that another chain has by now stays with that one.
const TAKE_KEYS = `
insert into pawl.business_keys (business_key, chain_id)
select j.business_key, coalesce(j.chain_id, j.job_id)
from pawl.jobs j
where ${IS_WITHOUT_ITS_KEY} and ${CHAIN_SEQ} = any($1::bigint[])
on conflict (business_key) do nothing`

async function rebuildBusinessKeys(connection: Connection): Promise<number> {
  const chainSeqs = await lockFound(connection, SELECT_WRONG_KEYS)
  return (await connection.run(FREE_KEYS, chainSeqs)) + (await connection.run(TAKE_KEYS, chainSeqs))
}

const SELECT_WRONG_CHAINS = `
select chain.seq as chain_seq
from pawl.scheduled_chains c
join pawl.jobs chain on chain.seq = c.chain_seq
where ${IS_LEFT_CHAIN}
union
select ${CHAIN_SEQ}
from pawl.jobs j
where ${IS_UNKNOWN_TO_SCHEDULE}`

const LEAVE_SCHEDULES = `
delete from pawl.scheduled_chains gone
using (
  select c.schedule_id, c.chain_seq
  from pawl.scheduled_chains c
  left join pawl.jobs chain on chain.seq = c.chain_seq
  where ${IS_LEFT_CHAIN} and (chain.seq is null or chain.seq = any($1::bigint[]))
) as left_chain
where gone.schedule_id = left_chain.schedule_id and gone.chain_seq = left_chain.chain_seq`

const JOIN_SCHEDULES = `
insert into pawl.scheduled_chains (schedule_id, chain_seq)
select j.schedule_id, ${CHAIN_SEQ}
from pawl.jobs j
where ${IS_UNKNOWN_TO_SCHEDULE} and ${CHAIN_SEQ} = any($1::bigint[])
on conflict (schedule_id, chain_seq) do nothing`

async function rebuildScheduledChains(connection: Connection): Promise<number> {
  const chainSeqs = await lockFound(connection, SELECT_WRONG_CHAINS)
  return (await connection.run(LEAVE_SCHEDULES, chainSeqs)) + (await connection.run(JOIN_SCHEDULES, chainSeqs))
}

/** Finds chains about which something is wrong, and locks them. What is wrong must be asked again afterwards. */
async function lockFound(connection: Connection, sql: string): Promise<number[]> {
  const chainSeqs = (await connection.all<{ chain_seq: number }>(sql)).map(({ chain_seq }) => chain_seq)
  await lockChains(connection, chainSeqs)
  return chainSeqs
}

const SAY_HAS_PERMITS = `
update pawl.occupancies o
set has_permits = true
where ${HAS_PERMITS_UNSAID}`

// A claim passes over permits that are locked, so none of these is taken anew until we are done.
const LOCK_STALE_PERMITS = `
select p.name, p.slot
from pawl.permits p
where ${IS_STALE_PERMIT}
order by p.name, p.slot
for update of p`

const FREE_PERMITS = `
update pawl.permits p
set job_seq = null, reservation_seq = null
from unnest($1::text[], $2::integer[]) as locked (name, slot)
where p.name = locked.name and p.slot = locked.slot and ${IS_STALE_PERMIT}`

async function freeStalePermits(connection: Connection): Promise<number> {
  const locked = await connection.all<{ name: string; slot: number }>(LOCK_STALE_PERMITS)
  if (locked.length === 0) return 0
  const names = locked.map(({ name }) => name)
  const freed = await connection.run(
    FREE_PERMITS,
    names,
    locked.map(({ slot }) => slot),
  )
  return freed
}

const DELETE_UNCOMPLETED = `
delete from pawl.uncompleted_runs u
where ${IS_LISTED_WRONGLY}`

const INSERT_UNCOMPLETED = `
insert into pawl.uncompleted_runs (status, started_at, seq, will_retry)
select r.status, r.started_at, r.seq, r.will_retry
from pawl.runs r
where ${IS_UNLISTED}
for share of r
on conflict (status, started_at, seq) do nothing`
