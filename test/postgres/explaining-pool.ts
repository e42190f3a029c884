import type { PoolClient } from 'pg'
import { USE_INDEXES } from '../../src/stores/postgres/pool.ts'
import { type Question, WatchedPool } from './watched-pool.ts'

/** What `explain (analyze, buffers)` says of one step. */
interface Step {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows'?: number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Shared Hit Blocks'?: number
  readonly 'Shared Read Blocks'?: number
  readonly 'Local Hit Blocks'?: number
  readonly Plans?: readonly Step[]
}

/** One statement, as it was carried out. */
export interface Execution {
  readonly text: string
  /** Pages that were looked at, in memory or on the disk. */
  readonly pages: number
  /** Tables that were read from their beginning to their end, with how many rows. */
  readonly scans: readonly string[]
}

/**
 * Whatever is asked of it is first carried out under `explain (analyze)` and undone, then carried out for real, with the same
 * values on the same rows.
 */
export class ExplainingPool extends WatchedPool {
  readonly executions: Execution[] = []

  constructor(connectionString: string) {
    super({ connectionString, max: 4, onConnect: (client) => void client.query(USE_INDEXES) })
  }

  protected override answering(client: PoolClient): (question: Question) => Promise<unknown> {
    let isInTransaction = false
    let last: Promise<unknown> = Promise.resolve()
    const answer = async (question: Question): Promise<unknown> => {
      const { text, values } = question
      if (/^\s*begin/.test(text)) isInTransaction = true
      if (/^\s*(commit|rollback)\b/.test(text)) isInTransaction = false
      if (/^\s*(with|select|insert|update|delete)\s/.test(text)) {
        await client.query(isInTransaction ? 'savepoint explained' : 'begin')
        try {
          const { rows } = await client.query({
            text: `explain (analyze, buffers, timing off, format json) ${text}`,
            values: values ?? [],
          })
          this.executions.push(read(text, rows[0]['QUERY PLAN'][0].Plan as Step))
        } finally {
          await client.query(isInTransaction ? 'rollback to savepoint explained' : 'rollback')
        }
      }
      return client.query(question)
    }
    // One after the other, also where the store does not wait for the answer to the last.
    return (question) => {
      const next = last.then(
        () => answer(question),
        () => answer(question),
      )
      last = next.catch(() => {})
      return next
    }
  }
}

function read(text: string, plan: Step): Execution {
  const counted = ['Shared Hit Blocks', 'Shared Read Blocks', 'Local Hit Blocks'] as const
  const pages = counted.reduce((sum, name) => sum + (plan[name] ?? 0), 0)
  return {
    text: text
      .replace(/"\w+"\./g, 'pawl.')
      .replace(/\s+/g, ' ')
      .trim(),
    pages,
    scans: scansIn(plan),
  }
}

function scansIn(step: Step): string[] {
  const below = (step.Plans ?? []).flatMap(scansIn)
  if (step['Node Type'] !== 'Seq Scan') return below
  const rows = (step['Actual Rows'] ?? 0) + (step['Rows Removed by Filter'] ?? 0)
  return [`${step['Relation Name']}: ${rows} rows`, ...below]
}
