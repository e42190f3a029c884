import { expect } from 'vitest'
import { isSound, select } from '../recovery/database.ts'
import { fileOf, holdsNoFault } from '../stores/each-store.ts'
import type { SharedDatabase } from '../stores/shared-database.ts'

/** What must hold of dependencies, groups and cascades in every committed state. */
const CONTRADICTIONS: Readonly<Record<string, string>> = {
  'a queued Job whose count of unmet parents is not that of its edges': `
    select q.seq
    from pawl_queue q
    join pawl_jobs j on j.seq = q.seq
    join pawl_jobs first on first.job_id = coalesce(j.chain_id, j.job_id)
    where q.unmet_parents <> (select count(*) from pawl_dependencies d where d.child_seq = first.seq and d.met = 0)`,
  'a ready Job that waits for a parent': 'select seq from pawl_queue where ready = 1 and unmet_parents > 0',
  'a chain that waits for a parent, though none of its Jobs is queued': `
    with queued as materialized (select chain_id from pawl_jobs_readable where status = 'QUEUED')
    select d.child_seq
    from pawl_dependencies d
    join pawl_jobs child on child.seq = d.child_seq
    where d.met = 0 and child.job_id not in queued`,
  'an edge that does not say whether its chain lives': `
    with live as materialized (select chain_id from pawl_jobs_readable where status in ('QUEUED', 'RUNNING'))
    select d.child_seq
    from pawl_dependencies d
    join pawl_jobs child on child.seq = d.child_seq
    where (d.met in (0, 1)) <> (child.job_id in live)`,
  'a Job that waits for a chain that has settled as it needs, though no cascade is on its way': `
    with queued as materialized (select chain_id from pawl_jobs_readable where status = 'QUEUED')
    select d.child_seq
    from pawl_dependencies d
    join pawl_jobs child on child.seq = d.child_seq and child.job_id in queued
    join pawl_jobs parent on parent.seq = d.parent_seq
    join pawl_jobs_readable ended on ended.chain_id = parent.job_id
      and not exists (select 1 from pawl_jobs next where next.retry_of = ended.job_id)
    where d.met = 0 and d.of_group = 0 and ended.status in ('FINISHED', 'CANCELLED')
      and (d.on_failure <> 'wait' or ended.outcome in ('COMPLETED', 'SKIPPED'))
      and not exists (select 1 from pawl_cascades)`,
  'a group whose counts are not those of its members': `
    with last as (
      select group_id, coalesce(chain_id, job_id) as chain, max(attempt) as attempt
      from pawl_jobs
      where group_id is not null
      group by 1, 2
    ), recount as (
      select last.group_id, count(*) as total,
        sum(j.status = 'FINISHED' and j.outcome = 'COMPLETED') as completed,
        sum(j.status = 'FINISHED' and j.outcome = 'FAILED') as failed,
        sum(j.status = 'FINISHED' and j.outcome = 'SKIPPED') as skipped,
        sum(j.status = 'CANCELLED') as cancelled,
        sum(j.status in ('QUEUED', 'RUNNING')) as live
      from last
      join pawl_jobs_readable j on j.chain_id = last.chain and j.attempt = last.attempt
      group by 1
    )
    select g.group_id
    from pawl_groups g
    left join recount r using (group_id)
    where (g.finished_at is null or g.total = r.total)
      and (g.total, g.completed, g.failed, g.skipped, g.cancelled, g.finished_at is not null)
        is not (r.total, r.completed, r.failed, r.skipped, r.cancelled, r.live = 0)`,
}

/** Everything that must hold in a committed state, whatever was killed when. */
export function isSoundlyComposed(file: string): void {
  const found = Object.entries(CONTRADICTIONS).filter(([, sql]) => select(file, sql).length > 0)
  expect(found.map(([name]) => name)).toEqual([])
  isSound(file)
}

/** The same of a store of either kind: by its own check of the invariants, and in a file by plain SQL. */
export async function isSoundlyComposedStore(store: Parameters<typeof holdsNoFault>[0]): Promise<void> {
  await holdsNoFault(store)
  const file = fileOf(store)
  if (file !== null) isSoundlyComposed(file)
}

/** The same of a database that processes share. */
export async function isSoundlyComposedIn(database: SharedDatabase): Promise<void> {
  await database.isSound()
  if (database.file !== null) isSoundlyComposed(database.file)
}
