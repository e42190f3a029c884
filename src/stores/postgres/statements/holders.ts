import type { Holder } from '../../../domain/standing.ts'
import type { Connection, SqlValue } from '../connection.ts'

const HOLDER_COLUMNS = `
  'run' as kind, r.run_id as id, j.job_id, l.type, n.node_id, n.name, r.started_at, r.status is not null as has_ended`

const FROM_OCCUPANCIES = `
from pawl.occupancies o
join pawl.runs r on r.seq = o.seq
join pawl.jobs j on j.seq = o.seq
join pawl.lanes l on l.lane_id = o.lane_id
join pawl.nodes n on n.node_seq = o.node_seq`

const DIRECT_HOLDERS = `
select 'direct', s.reservation_id, null, l.type, n.node_id, n.name, s.started_at, s.status <> 'RUNNING'
from pawl.direct_occupancies d
join pawl.reservations s on s.reservation_seq = d.reservation_seq
join pawl.lanes l on l.lane_id = d.lane_id
join pawl.nodes n on n.node_seq = d.node_seq`

// Those that began first, at most so many. Reads all bodies that execute right now.
const SELECT_HOLDERS_OF_LANES = `
select ${HOLDER_COLUMNS}
${FROM_OCCUPANCIES}
where o.lane_id = any($1::integer[])
union all
${DIRECT_HOLDERS}
where d.lane_id = any($1::integer[])
order by 7, 2
limit $2`

const SELECT_HOLDERS_OF_NODES = `
select ${HOLDER_COLUMNS}
${FROM_OCCUPANCIES}
where o.node_seq = any($1::integer[])
union all
${DIRECT_HOLDERS}
where d.node_seq = any($1::integer[])
order by 7, 2
limit $2`

// At most 1 row: no two attempts of a chain execute at once.
const SELECT_HOLDER_OF_CHAIN = `
select ${HOLDER_COLUMNS}
${FROM_OCCUPANCIES}
where j.job_id = $1 or j.chain_id = $1
limit 1`

// 1 row: a body of this Job executes, whether its outcome is known or not.
const SELECT_HOLDER_OF_JOB = `
select ${HOLDER_COLUMNS}
${FROM_OCCUPANCIES}
where o.seq = $1`

interface HolderRow {
  kind: Holder['kind']
  id: string
  job_id: string | null
  type: string
  node_id: string
  name: string
  started_at: number
  has_ended: boolean
}

/** Finds the bodies that hold something right now. */
export class Holders {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  ofLanes(laneIds: readonly number[], limit: number): Promise<Holder[]> {
    return this.#select(SELECT_HOLDERS_OF_LANES, laneIds, limit)
  }

  ofNodes(nodeSeqs: readonly number[], limit: number): Promise<Holder[]> {
    return this.#select(SELECT_HOLDERS_OF_NODES, nodeSeqs, limit)
  }

  async ofChain(chainId: string): Promise<Holder | null> {
    return (await this.#select(SELECT_HOLDER_OF_CHAIN, chainId))[0] ?? null
  }

  async ofJob(seq: number): Promise<Holder | null> {
    return (await this.#select(SELECT_HOLDER_OF_JOB, seq))[0] ?? null
  }

  async #select(sql: string, ...values: SqlValue[]): Promise<Holder[]> {
    return (await this.#connection.all<HolderRow>(sql, ...values)).map((row) => ({
      kind: row.kind,
      id: row.id,
      jobId: row.job_id,
      type: row.type,
      nodeId: row.node_id,
      nodeName: row.name,
      startedAt: row.started_at,
      hasEnded: row.has_ended,
    }))
  }
}
