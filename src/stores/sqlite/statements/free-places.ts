import type { Connection, SqlRow } from '../connection.ts'

// As many rows as nodes live. Of the occupancies it reads as many rows as bodies execute right now.
const SELECT_CLAIMING = `
select n.node_seq, n.types, n.concurrency
  - (select count(*) from pawl_occupancies o where o.node_seq = n.node_seq)
  - (select count(*) from pawl_direct_occupancies d where d.node_seq = n.node_seq) as free
from pawl_nodes n
where n.ended_at is null and n.claims = 1
order by n.node_seq`

interface ClaimingRow extends SqlRow {
  node_seq: number
  types: string
  free: number
}

interface ClaimingNode {
  readonly types: ReadonlySet<string>
  free: number
}

/** The places that nodes which claim have left, as the occupancies tell. Read when somebody first asks. */
export class FreePlaces {
  readonly #connection: Connection
  /** A node that counts its places itself. */
  readonly #except: number | null
  #nodes: readonly ClaimingNode[] | null = null

  constructor(connection: Connection, except: number | null) {
    this.#connection = connection
    this.#except = except
  }

  isHandled(type: string): boolean {
    return this.#read().some((node) => node.types.has(type))
  }

  /** Takes a place on one of the nodes that handle the type. False: none of them has one. */
  take(type: string): boolean {
    const node = this.#read().find(({ types, free }) => free > 0 && types.has(type))
    if (node === undefined) return false
    node.free--
    return true
  }

  #read(): readonly ClaimingNode[] {
    this.#nodes ??= this.#connection
      .all<ClaimingRow>(SELECT_CLAIMING)
      .filter((row) => row.node_seq !== this.#except)
      .map((row) => ({
        types: new Set(JSON.parse(row.types) as string[]),
        free: row.free,
      }))
    return this.#nodes
  }
}
