import { PawlError } from '../../domain/errors.ts'
import { type Job, jobVersion } from '../../domain/job.ts'

type Headers = Readonly<Record<string, string>>

/** The header by which a caller says later which version it means. */
export function jobTag(job: Job): Headers {
  return { etag: `"${jobVersion(job)}"` }
}

export function revisionTag({ revision }: { readonly revision: number }): Headers {
  return { etag: `"${revision}"` }
}

/** What `If-Match` says, in the words of the operations. */
export function expectedRevision(ifMatch: string | null): { readonly revision?: number } {
  if (ifMatch === null) return {}
  if (/^[1-9]\d{0,14}$/.test(ifMatch)) return { revision: Number(ifMatch) }
  throw otherVersion()
}

/** The same for a Job. */
export function expectedVersion(ifMatch: string | null): { readonly version?: string } {
  if (ifMatch === null) return {}
  if (ifMatch !== '') return { version: ifMatch }
  throw otherVersion()
}

function otherVersion(): PawlError {
  return new PawlError('precondition_failed', 'It is not at the version that `If-Match` names. Read it again.')
}
