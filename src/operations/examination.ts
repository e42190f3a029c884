import type { Finding, Remedy } from '../store/checks.ts'

/** One thing that was looked at. */
export interface Check {
  /** The number of an invariant, as in ARCHITECTURE.md, or a word: `clock`. */
  readonly id: string
  /** What holds when the status is `ok`. */
  readonly title: string
  /** The worst of its findings. */
  readonly status: 'ok' | 'warning' | 'fault'
  readonly findings: readonly Finding[]
}

export interface Examination {
  /** No fault was found. There may be warnings. */
  readonly ok: boolean
  readonly checks: readonly Check[]
}

export function checkOf(id: string, title: string, findings: readonly Finding[]): Check {
  const isFault = findings.some(({ severity }) => severity === 'fault')
  return { id, title, status: isFault ? 'fault' : findings.length > 0 ? 'warning' : 'ok', findings }
}

/** Something that was put right. */
export interface Repair {
  readonly remedy: Remedy
  /** What was done, in one sentence. */
  readonly message: string
  /** How many rows were changed, or Jobs recovered. */
  readonly count: number
}

export interface RepairedStore {
  /** What was found before anything was done. */
  readonly before: Examination
  readonly repairs: readonly Repair[]
  /** What is left: `before` itself when there was nothing to do. */
  readonly after: Examination
}
