import type { Holder } from '../../../domain/standing.ts'
import type { Connection, SqlRow, SqlValue } from '../connection.ts'
import type { Interned } from '../transaction.ts'
import { laneById } from './interned.ts'

const HOLDER_COLUMNS = `
  'run' as kind, r.run_id as id, j.job_id, o.lane_id, n.node_id, n.name, r.started_at, r.status is not null as has_ended`

// A cross join keeps this order of the tables: the occupancies come first, because they are few.
const FROM_OCCUPANCIES = `
from pawl_occupancies o
cross join pawl_runs r on r.seq = o.seq
cross join pawl_jobs j on j.seq = o.seq
cross join pawl_nodes n on n.node_seq = o.node_seq`

const DIRECT_HOLDERS = `
select 'direct', s.reservation_id, null, d.lane_id, n.node_id, n.name, s.started_at, s.status <> 'RUNNING'
from pawl_direct_occupancies d
cross join pawl_reservations s on s.reservation_seq = d.reservation_seq
cross join pawl_nodes n on n.node_seq = d.node_seq`

// Those that began first, at most so many. Reads all bodies that execute right now.
const SELECT_HOLDERS_OF_LANES = `
select ${HOLDER_COLUMNS}
${FROM_OCCUPANCIES}
where o.lane_id in (select value from json_each(?))
union all
${DIRECT_HOLDERS}
where d.lane_id in (select value from json_each(?))
order by 7, 2
limit ?`

const SELECT_HOLDERS_OF_NODES = `
select ${HOLDER_COLUMNS}
${FROM_OCCUPANCIES}
where o.node_seq in (select value from json_each(?))
union all
${DIRECT_HOLDERS}
where d.node_seq in (select value from json_each(?))
order by 7, 2
limit ?`

// At most 1 row: no two attempts of a chain execute at once.
const SELECT_HOLDER_OF_CHAIN = `
select ${HOLDER_COLUMNS}
${FROM_OCCUPANCIES}
where j.job_id = ? or j.chain_id = ?
limit 1`

// 1 row: a body of this Job executes, whether its outcome is known or not.
const SELECT_HOLDER_OF_JOB = `
select ${HOLDER_COLUMNS}
${FROM_OCCUPANCIES}
where o.seq = ?`

interface HolderRow extends SqlRow {
  kind: Holder['kind']
  id: string
  job_id: string | null
  lane_id: number
  node_id: string
  name: string
  started_at: number
  has_ended: number
}

/** Finds the bodies that hold something right now. */
export class Holders {
  readonly #connection: Connection
  readonly #interned: Interned

  constructor(connection: Connection, interned: Interned) {
    this.#connection = connection
    this.#interned = interned
  }

  ofLanes(laneIds: readonly number[], limit: number): Holder[] {
    const ids = JSON.stringify(laneIds)
    return this.#select(SELECT_HOLDERS_OF_LANES, ids, ids, limit)
  }

  ofNodes(nodeSeqs: readonly number[], limit: number): Holder[] {
    const seqs = JSON.stringify(nodeSeqs)
    return this.#select(SELECT_HOLDERS_OF_NODES, seqs, seqs, limit)
  }

  ofChain(chainId: string): Holder | null {
    return this.#select(SELECT_HOLDER_OF_CHAIN, chainId, chainId)[0] ?? null
  }

  ofJob(seq: number): Holder | null {
    return this.#select(SELECT_HOLDER_OF_JOB, seq)[0] ?? null
  }

  #select(sql: string, ...values: SqlValue[]): Holder[] {
    return this.#connection.all<HolderRow>(sql, ...values).map((row) => ({
      kind: row.kind,
      id: row.id,
      jobId: row.job_id,
      type: laneById(this.#connection, this.#interned, row.lane_id).type,
      nodeId: row.node_id,
      nodeName: row.name,
      startedAt: row.started_at,
      hasEnded: row.has_ended === 1,
    }))
  }
}
