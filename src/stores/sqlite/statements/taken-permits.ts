import { PermitsInUse } from '../../shared/permits-in-use.ts'
import type { Connection } from '../connection.ts'
import type { Interned } from '../transaction.ts'
import { laneById } from './interned.ts'
import { listLimits } from './permits.ts'

// Reads as many rows as bodies execute right now on all nodes, of Jobs and of direct executions.
const COUNT_BODIES = `
select lane_id, node_seq, count(*) as bodies
from pawl_occupancies
group by lane_id, node_seq
union all
select lane_id, node_seq, count(*)
from pawl_direct_occupancies
group by lane_id, node_seq`

export class TakenPermits extends PermitsInUse {
  constructor(connection: Connection, interned: Interned) {
    const rows = connection.all<{ lane_id: number; node_seq: number; bodies: number }>(COUNT_BODIES)
    super(
      listLimits(connection),
      rows.map((row) => ({
        lane: laneById(connection, interned, row.lane_id),
        nodeSeq: row.node_seq,
        bodies: row.bodies,
      })),
    )
  }
}
