import type { PrunableChains, PrunePage, PruneRequest } from '../../../store/maintenance.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'

// The first Jobs of chains in the order of their acceptance.
const SELECT_OLD_CHAINS = `
select seq, group_id, created_at
from pawl.jobs
where seq > $1 and chain_id is null
order by seq
limit $2`

// Of the given chains, those that may go: ended long enough ago, and nobody refers to them any more, neither a body that
// still executes, nor a live group, a cascade, a delivery that is still to be made, nor a child that waits (0) or lives (1).
// Each look is limited to one row, so that PostgreSQL seeks in an index for each chain and never reads a whole table.
const SELECT_PRUNABLE = `
select chain.seq, chain.group_id
from pawl.jobs chain
left join lateral (
  select j.seq, j.cancelled_at
  from pawl.jobs j
  where j.chain_id = chain.job_id
  order by j.attempt desc
  limit 1
) retry on true
left join pawl.runs r on r.seq = coalesce(retry.seq, chain.seq)
left join lateral (
  select 1 as found
  from pawl.groups g
  where g.group_id = chain.group_id and g.finished_at is null
  limit 1
) live_group on true
left join lateral (
  select 1 as found
  from pawl.cascades c
  where c.subject = chain.job_id
  limit 1
) cascade on true
left join lateral (
  select 1 as found
  from pawl.dependencies d
  where d.parent_seq = chain.seq and d.met in (0, 1)
  limit 1
) child on true
left join lateral (
  select 1 as found
  from (
    select chain.seq
    union all
    select j.seq from pawl.jobs j where j.chain_id = chain.job_id
  ) job
  left join pawl.occupancies o on o.seq = job.seq
  left join lateral (
    select 1 as found
    from pawl.deliveries d
    left join pawl.webhooks w on w.webhook_seq = d.webhook_seq
    where d.job_seq = job.seq and d.status = 'PENDING' and (d.webhook_seq is null or w.enabled)
    limit 1
  ) pending on true
  where o.seq is not null or pending.found is not null
  limit 1
) busy on true
where chain.seq = any($1::bigint[])
  and (r.status is not null or case when retry.seq is null then chain.cancelled_at else retry.cancelled_at end is not null)
  and coalesce(r.finished_at, case when retry.seq is null then chain.cancelled_at else retry.cancelled_at end) < $2
  and live_group.found is null
  and cascade.found is null
  and child.found is null
  and busy.found is null
order by chain.seq`

/** A chain by its number. */
interface ChainOfGroup {
  seq: number
  group_id: string | null
}

// Chains that somebody else holds are left to the next time: nobody waits for somebody who prunes, nor the reverse. A
// child that names a chain as its parent meanwhile either is seen when we look again, or finds that the parent is gone.
const LOCK_PRUNABLE = `
select seq
from pawl.jobs
where seq = any($1::bigint[])
order by seq
for update skip locked`

// Two that remove the last members of one group at the same time must see each other's work.
const LOCK_SETTLED_GROUPS = `
select group_id
from pawl.groups
where group_id = any($1::text[]) and finished_at is not null
order by group_id
for update`

// As many rows as groups went with the last of their members.
const DELETE_EMPTY_GROUPS = `
delete from pawl.groups g
where g.group_id = any($1::text[]) and g.finished_at is not null
  and (select j.seq from pawl.jobs j where j.group_id = g.group_id limit 1) is null`

export async function pruneChains(transaction: Transaction, request: PruneRequest): Promise<PrunePage> {
  const { connection } = transaction
  const { firsts, nextSeq } = await readPage(connection, request, Number(request.cursor ?? 0))
  const nextCursor = nextSeq === null ? null : String(nextSeq)
  const chains = await lockPrunable(connection, await selectPrunable(connection, firsts, request), request)
  if (chains.length === 0) return { jobsRemoved: 0, groupsRemoved: 0, logPaths: [], nextCursor }
  const groupIds = [...new Set(chains.flatMap(({ group_id }) => group_id ?? []))]
  if (groupIds.length > 0) await connection.all(LOCK_SETTLED_GROUPS, groupIds)
  const { jobsRemoved, logPaths } = await removeChains(connection, chains)
  const groupsRemoved = groupIds.length === 0 ? 0 : await connection.run(DELETE_EMPTY_GROUPS, groupIds)
  return { jobsRemoved, groupsRemoved, logPaths, nextCursor }
}

/** Where a count stopped: behind this Job, with groups of which members follow, and whether all so far would go. */
type CountCursor = readonly [seq: number, groups: readonly (readonly [groupId: string, goes: boolean])[]]

export async function countPrunableChains(connection: Connection, request: PruneRequest): Promise<PrunableChains> {
  const { cursor } = request
  const [after, unfinished] = cursor === null ? ([0, []] as const) : (JSON.parse(cursor) as CountCursor)
  const { firsts, nextSeq } = await readPage(connection, request, after)
  const chains = await selectPrunable(connection, firsts, request)
  const going = new Set(chains.map(({ seq }) => seq))
  const groups = new Map(unfinished)
  for (const { seq, group_id } of firsts) {
    if (group_id !== null) groups.set(group_id, (groups.get(group_id) ?? true) && going.has(seq))
  }
  const completed = await takeCompleted(connection, groups, firsts)
  const jobs = await findJobsOf(connection, chains)
  const nextCursor = nextSeq === null ? null : JSON.stringify([nextSeq, [...groups]] satisfies CountCursor)
  return { jobs: jobs.length, groups: completed, nextCursor }
}

const SELECT_LAST_MEMBERS = `
select given.group_id, last_member.seq
from unnest($1::text[]) as given (group_id)
cross join lateral (
  select j.seq
  from pawl.jobs j
  where j.group_id = given.group_id and j.chain_id is null
  order by j.seq desc
  limit 1
) last_member`

/** Takes out the groups whose last member was looked at, and counts those of which all members would go. */
async function takeCompleted(
  connection: Connection,
  groups: Map<string, boolean>,
  firsts: readonly FirstRow[],
): Promise<number> {
  const groupIds = [...new Set(firsts.flatMap(({ group_id }) => group_id ?? []))]
  if (groupIds.length === 0) return 0
  const end = firsts[firsts.length - 1]?.seq ?? 0
  let completed = 0
  for (const { group_id, seq } of await connection.all<ChainOfGroup>(SELECT_LAST_MEMBERS, groupIds)) {
    if (seq > end) continue
    if (groups.get(group_id as string) === true) completed++
    groups.delete(group_id as string)
  }
  return completed
}

interface FirstRow extends ChainOfGroup {
  created_at: number
}

/** A page of chains. `nextSeq`: where the next page begins; null: there is none. */
async function readPage(
  connection: Connection,
  { endedBefore, limit }: PruneRequest,
  after: number,
): Promise<{ firsts: FirstRow[]; nextSeq: number | null }> {
  const firsts = await connection.all<FirstRow>(SELECT_OLD_CHAINS, after, limit)
  // Rows follow the time of acceptance, but a clock may have been ahead for a while: a whole page must be too young.
  const isLastPage = firsts.length < limit || firsts.every(({ created_at }) => created_at >= endedBefore)
  return { firsts, nextSeq: isLastPage ? null : (firsts[firsts.length - 1]?.seq ?? null) }
}

async function selectPrunable(
  connection: Connection,
  chains: readonly { readonly seq: number }[],
  { endedBefore }: PruneRequest,
): Promise<ChainOfGroup[]> {
  return chains.length === 0 ? [] : connection.all<ChainOfGroup>(SELECT_PRUNABLE, numbersOf(chains), endedBefore)
}

/** What was read before the lock may have changed until we had it, so it is looked at again. */
async function lockPrunable(
  connection: Connection,
  chains: readonly ChainOfGroup[],
  request: PruneRequest,
): Promise<ChainOfGroup[]> {
  if (chains.length === 0) return []
  return selectPrunable(connection, await connection.all<{ seq: number }>(LOCK_PRUNABLE, numbersOf(chains)), request)
}

function numbersOf(rows: readonly { readonly seq: number }[]): number[] {
  return rows.map(({ seq }) => seq)
}

// The Jobs of the given chains, each with its tags and the path of its log.
const SELECT_JOBS_OF_CHAINS = `
select job.seq, job.tags, r.log_path
from pawl.jobs chain
cross join lateral (
  select chain.seq, chain.tags
  union all
  select j.seq, j.tags from pawl.jobs j where j.chain_id = chain.job_id
) job
left join pawl.runs r on r.seq = job.seq
where chain.seq = any($1::bigint[])`

interface JobOfChain {
  seq: number
  tags: string | null
  log_path: string | null
}

async function findJobsOf(connection: Connection, chains: readonly ChainOfGroup[]): Promise<JobOfChain[]> {
  return chains.length === 0 ? [] : connection.all<JobOfChain>(SELECT_JOBS_OF_CHAINS, numbersOf(chains))
}

const DELETE_TAGS = `
delete from pawl.job_tags g
using unnest($1::text[], $2::bigint[]) as gone (tag, seq)
where g.tag = gone.tag and g.seq = gone.seq`

const DELETE_LOGS = 'delete from pawl.run_logs where seq = any($1::bigint[])'

const DELETE_UNCOMPLETED_RUNS = `
delete from pawl.uncompleted_runs u
using pawl.runs r
where r.seq = any($1::bigint[]) and u.status = r.status and u.started_at = r.started_at and u.seq = r.seq`

const DELETE_RUNS = 'delete from pawl.runs where seq = any($1::bigint[])'
const DELETE_DELIVERIES = 'delete from pawl.deliveries where job_seq = any($1::bigint[])'
const DELETE_DEPENDENCIES = 'delete from pawl.dependencies where child_seq = any($1::bigint[])'
const DELETE_JOBS = 'delete from pawl.jobs where seq = any($1::bigint[])'

async function removeChains(
  connection: Connection,
  chains: readonly ChainOfGroup[],
): Promise<{ jobsRemoved: number; logPaths: string[] }> {
  const jobs = await findJobsOf(connection, chains)
  const seqs = numbersOf(jobs)
  const tagged = jobs.flatMap(({ seq, tags }) => tagsOf(tags).map((tag) => ({ tag, seq })))
  const tags = tagged.map(({ tag }) => tag)
  if (tags.length > 0) await connection.run(DELETE_TAGS, tags, numbersOf(tagged))
  await connection.run(DELETE_LOGS, seqs)
  await connection.run(DELETE_UNCOMPLETED_RUNS, seqs)
  await connection.run(DELETE_RUNS, seqs)
  await connection.run(DELETE_DELIVERIES, seqs)
  await connection.run(DELETE_DEPENDENCIES, numbersOf(chains))
  const jobsRemoved = await connection.run(DELETE_JOBS, seqs)
  return { jobsRemoved, logPaths: jobs.flatMap(({ log_path }) => log_path ?? []) }
}

function tagsOf(tags: string | null): string[] {
  return tags === null ? [] : (JSON.parse(tags) as string[])
}
