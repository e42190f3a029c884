import { type Finding, type Remedy, ROWS_LISTED_MAX } from '../../store/checks.ts'

/** What a check says about the rows that contradict it. */
export interface Complaint {
  /** @default 'fault' */
  readonly severity?: 'warning'
  readonly message: string
  readonly advice: string
  readonly remedy?: Remedy
}

export function findingOf({ message, advice, severity, remedy }: Complaint, ids: readonly string[]): Finding {
  return {
    severity: severity ?? 'fault',
    message,
    advice,
    rows: ids.slice(0, ROWS_LISTED_MAX),
    count: ids.length,
    remedy: remedy ?? null,
  }
}
