import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect } from 'vitest'

type Row = Readonly<Record<string, string | number | null>>

interface Handle {
  prepare(sql: string): { run(...values: unknown[]): unknown; all(...values: unknown[]): unknown[] }
  exec(sql: string): unknown
  close(): void
}

/** The library that Pawl uses here too: two copies of SQLite in one process must not open the same file. */
const library = Number(process.versions.node.split('.')[0]) >= 24 ? 'node:sqlite' : '@photostructure/sqlite'
const { DatabaseSync } = (await import(library)) as { DatabaseSync: new (path: string) => Handle }

const folders: string[] = []

/** The path of a database that is not there yet, in a folder of its own, because other files will lie beside it. */
export function newDatabase(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-recovery-'))
  folders.push(folder)
  return join(folder, 'pawl.db')
}

afterAll(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

/** Changes a database behind Pawl's back, as only a person with SQL can. */
export function damage(file: string, sql: string, ...values: unknown[]): void {
  withHandle(file, (handle) => {
    handle.exec('pragma foreign_keys = off')
    handle.prepare(sql).run(...values)
  })
}

export function select(file: string, sql: string): Row[] {
  return withHandle(file, (handle) => handle.prepare(sql).all() as Row[])
}

function withHandle<T>(file: string, work: (handle: Handle) => T): T {
  const handle = new DatabaseSync(file)
  try {
    handle.exec('pragma busy_timeout = 5000')
    return work(handle)
  } finally {
    handle.close()
  }
}

/** Every row of every table. Of the nodes only those that have not left: each start makes a new one, and that is right. */
export function readTables(file: string): Readonly<Record<string, Row[]>> {
  const ours = "type = 'table' and (name like 'pawl_%' or name = 'sqlite_sequence')"
  return withHandle(file, (handle) => {
    const tables = handle.prepare(`select name from sqlite_schema where ${ours}`).all() as { readonly name: string }[]
    const rowsOf = (name: string) =>
      handle.prepare(`select * from ${name} ${name === 'pawl_nodes' ? 'where ended_at is null' : ''}`).all() as Row[]
    return Object.fromEntries(tables.map(({ name }) => [name, rowsOf(name)]))
  })
}

/** What must hold in every committed state, whatever was killed when. */
export function isSound(file: string): void {
  const contradictions = {
    'neither queued nor cancelled nor with a Run': `select job_id from pawl_jobs where cancelled_at is null
      and seq not in (select seq from pawl_queue) and seq not in (select seq from pawl_runs)`,
    'queued, and with a Run': 'select seq from pawl_queue join pawl_runs using (seq)',
    'an open Run without an occupancy': `select run_id from pawl_runs where status is null
      and seq not in (select seq from pawl_occupancies)`,
    'an occupancy on a node that has left': `select o.seq from pawl_occupancies o join pawl_nodes n using (node_seq)
      where n.ended_at is not null`,
    'a Run that is to be retried, but no retry': `select run_id from pawl_runs join pawl_jobs j using (seq)
      where will_retry = 1 and not exists (select 1 from pawl_jobs next where next.retry_of = j.job_id)`,
    'a business key of a settled chain': `select business_key from pawl_business_keys k where not exists (
      select 1 from pawl_jobs j where coalesce(j.chain_id, j.job_id) = k.chain_id
        and (seq in (select seq from pawl_queue) or seq in (select seq from pawl_occupancies)))`,
    'a direct execution that runs without an occupancy': `select reservation_id from pawl_reservations
      where status = 'RUNNING' and reservation_seq not in (select reservation_seq from pawl_direct_occupancies)`,
    'an occupancy of a ticket that waits, or was never served': `select reservation_id from pawl_reservations
      join pawl_direct_occupancies using (reservation_seq) where status = 'WAITING' or started_at is null`,
    'a body of a direct execution on a node that has left': `select d.reservation_seq from pawl_direct_occupancies d
      join pawl_nodes n using (node_seq) where n.ended_at is not null`,
    'statistics that differ from what ended': `select 1 from (
        select total(executed) as executed, total(completed) as completed, total(failed) as failed,
          total(skipped) as skipped, total(cancelled) as cancelled
        from pawl_statistics
      )
      where not exists (select 1 from pawl_counters where name = 'last_pruned_job')
        and (executed, completed, failed, skipped, cancelled) is not (
          (select count(*) from pawl_runs where status is not null),
          (select count(*) from pawl_runs where status = 'COMPLETED'),
          (select count(*) from pawl_runs where status = 'FAILED'),
          (select count(*) from pawl_runs where status = 'SKIPPED'),
          (select count(*) from pawl_jobs where cancelled_at is not null)
        )`,
    'tags that differ from those of the Jobs': `select j.seq, t.value from pawl_jobs j, json_each(j.tags) t
      where (t.value, j.seq) not in (select tag, seq from pawl_job_tags)
      union all
      select seq, tag from pawl_job_tags where seq not in (select seq from pawl_jobs where tags is not null)`,
    'a broken reference': 'pragma foreign_key_check',
  }
  withHandle(file, (handle) => {
    const found = Object.entries(contradictions).filter(([, sql]) => handle.prepare(sql).all().length > 0)
    expect(found.map(([name]) => name)).toEqual([])
    expect(handle.prepare('pragma integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
  })
}
