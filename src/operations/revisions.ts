import { PawlError } from '../domain/errors.ts'
import { readWhole, refuseUnknownKeys } from '../domain/options.ts'

/** What has revisions. */
type Revised = 'template' | 'schedule' | 'webhook'

export interface RemoveOptions {
  /** The revision you decided on: when it has another one now, nothing is removed. */
  readonly revision?: number
}

export function readRemoveOptions(options: RemoveOptions): number | null {
  refuseUnknownKeys(options, ['revision'], '')
  return readExpectedRevision(options.revision)
}

export function readExpectedRevision(revision: unknown): number | null {
  return revision === undefined ? null : readWhole(revision, 1, Number.MAX_SAFE_INTEGER, 'revision')
}

/** The loop that reads anew comes here again, so a caller who named a revision never gets a later one changed. */
export function refuseOtherRevision(what: Revised, revision: number, expected: number | null): void {
  if (expected === null || expected === revision) return
  throw new PawlError(
    'conflict',
    `Expected the ${what} to be at revision ${expected}, but it is at ${revision}. Read it again, then decide again.`,
    { path: 'revision', details: { revision, expected } },
  )
}

export function otherRevision(what: Revised, expected: number | null): PawlError {
  return new PawlError(
    'conflict',
    `Expected the ${what} to be at revision ${expected}, but it has changed. Read it again, then decide again.`,
    { path: 'revision', details: { expected } },
  )
}

export function changedMeanwhile(what: Revised): PawlError {
  return new PawlError('conflict', `Others kept changing the ${what} at the same time. Nothing was changed; try again.`)
}
