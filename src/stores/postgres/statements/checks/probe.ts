import { type Finding, ROWS_COUNTED_MAX } from '../../../../store/checks.ts'
import { type Complaint, findingOf } from '../../../shared/finding.ts'
import type { Connection } from '../../connection.ts'

/** One invariant, and how it is looked at. */
export interface InvariantCheck {
  readonly invariant: string
  /** What holds when nothing is found. */
  readonly title: string
  examine(connection: Connection, now: number): Promise<Finding[]>
}

/**
 * A question whose answers, one row each with its `id`, contradict an invariant. It may read whole tables: nobody waits for
 * it, and PostgreSQL joins two large tables better as a whole than page by page.
 */
export interface Probe extends Complaint {
  /** Its only value is the present, if it `takesNow`. */
  readonly sql: string
  readonly takesNow?: true
}

export function checkOf(invariant: string, title: string, probes: readonly Probe[]): InvariantCheck {
  return {
    invariant,
    title,
    async examine(connection, now) {
      const findings: Finding[] = []
      for (const probe of probes) {
        const ids = await answersTo(probe, connection, now)
        if (ids.length > 0) findings.push(findingOf(probe, ids))
      }
      return findings
    },
  }
}

async function answersTo({ sql, takesNow }: Probe, connection: Connection, now: number): Promise<string[]> {
  const first = `${sql}\nlimit ${ROWS_COUNTED_MAX}`
  const rows = takesNow ? await connection.all<IdRow>(first, now) : await connection.all<IdRow>(first)
  return rows.map(({ id }) => String(id))
}

interface IdRow {
  id: string | number
}
