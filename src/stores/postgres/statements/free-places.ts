import type { Connection } from '../connection.ts'

// As many rows as nodes live. Of the occupancies it reads as many rows as bodies execute right now.
const SELECT_CLAIMING = `
select n.node_seq, n.types, n.concurrency - coalesce(taken.bodies, 0) as free
from pawl.nodes n
left join (
  select node_seq, count(*) as bodies
  from (
    select node_seq from pawl.occupancies
    union all
    select node_seq from pawl.direct_occupancies
  ) executing
  group by node_seq
) taken on taken.node_seq = n.node_seq
where n.ended_at is null and n.claims
order by n.node_seq`

interface ClaimingRow {
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

  async isHandled(type: string): Promise<boolean> {
    return (await this.#read()).some((node) => node.types.has(type))
  }

  /** Takes a place on one of the nodes that handle the type. False: none of them has one. */
  async take(type: string): Promise<boolean> {
    const node = (await this.#read()).find(({ types, free }) => free > 0 && types.has(type))
    if (node === undefined) return false
    node.free--
    return true
  }

  async #read(): Promise<readonly ClaimingNode[]> {
    this.#nodes ??= (await this.#connection.all<ClaimingRow>(SELECT_CLAIMING))
      .filter((row) => row.node_seq !== this.#except)
      .map((row) => ({
        types: new Set(JSON.parse(row.types) as string[]),
        free: row.free,
      }))
    return this.#nodes
  }
}
