import type { Connection } from '../connection.ts'

/** One parent of a chain. */
export interface ParentRow {
  child_seq: number
  parent_id: string
  parent_seq: number
  /** In which order it was named. Negative: nobody did, it stood before the child in a group that the child has left. */
  place: number
  of_group: boolean
  on_failure: string
  met: number
}

const SELECT_CHAIN_SEQ = 'select seq from pawl.jobs where job_id = $1'

/** A chain is numbered by its first Job. Undefined: that one was pruned. */
export async function chainSeqOf(connection: Connection, chainId: string): Promise<number | undefined> {
  return (await connection.get<{ seq: number }>(SELECT_CHAIN_SEQ, chainId))?.seq
}

// At most a thousand, sorted here: the table is in the order of their ids.
const SELECT_PARENTS = `
select child_seq, parent_id, parent_seq, place, of_group, on_failure, met
from pawl.dependencies
where child_seq = $1
order by place`

/** The parents of the chain to which this Job belongs. */
export async function findParents(
  connection: Connection,
  job: { readonly seq: number; readonly chain_id: string | null },
): Promise<ParentRow[]> {
  const childSeq = job.chain_id === null ? job.seq : await chainSeqOf(connection, job.chain_id)
  return childSeq === undefined ? [] : connection.all<ParentRow>(SELECT_PARENTS, childSeq)
}
