import { PermitsInUse } from '../../shared/permits-in-use.ts'
import type { Connection } from '../connection.ts'
import { listLimits } from './permits.ts'

// Reads as many rows as bodies execute right now on all nodes, of Jobs and of direct executions.
const COUNT_BODIES = `
select l.lane_id, l.type, l.resources, o.node_seq, o.bodies
from (
  select lane_id, node_seq, count(*) as bodies
  from pawl.occupancies
  group by lane_id, node_seq
  union all
  select lane_id, node_seq, count(*)
  from pawl.direct_occupancies
  group by lane_id, node_seq
) o
join pawl.lanes l on l.lane_id = o.lane_id
order by l.lane_id, o.node_seq`

interface BodiesRow {
  lane_id: number
  type: string
  resources: string
  node_seq: number
  bodies: number
}

export class TakenPermits extends PermitsInUse {
  static async read(connection: Connection): Promise<TakenPermits> {
    const limits = await listLimits(connection)
    const rows = await connection.all<BodiesRow>(COUNT_BODIES)
    return new TakenPermits(
      limits,
      rows.map(({ lane_id: laneId, type, resources, node_seq: nodeSeq, bodies }) => ({
        lane: { laneId, type, resources: JSON.parse(resources) as string[] },
        nodeSeq,
        bodies,
      })),
    )
  }
}
