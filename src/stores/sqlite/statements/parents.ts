import type { Connection, SqlRow } from '../connection.ts'

/** One parent of a chain. */
export interface ParentRow extends SqlRow {
  child_seq: number
  parent_id: string
  parent_seq: number
  /** In which order it was named. Negative: nobody did, it stood before the child in a group that the child has left. */
  place: number
  of_group: number
  on_failure: string
  met: number
}

const SELECT_CHAIN_SEQ = 'select seq from pawl_jobs where job_id = ?'

/** A chain is numbered by its first Job. Undefined: that one was pruned. */
export function chainSeqOf(connection: Connection, chainId: string): number | undefined {
  return connection.get<{ seq: number }>(SELECT_CHAIN_SEQ, chainId)?.seq
}

// At most a thousand, sorted here: the table is in the order of their ids.
const SELECT_PARENTS = `
select child_seq, parent_id, parent_seq, place, of_group, on_failure, met
from pawl_dependencies
where child_seq = ?
order by place`

/** The parents of the chain to which this Job belongs. */
export function findParents(
  connection: Connection,
  job: { readonly seq: number; readonly chain_id: string | null },
): ParentRow[] {
  const childSeq = job.chain_id === null ? job.seq : chainSeqOf(connection, job.chain_id)
  return childSeq === undefined ? [] : connection.all<ParentRow>(SELECT_PARENTS, childSeq)
}
