import { PawlError } from '../domain/errors.ts'
import type { JobStatus } from '../domain/job.ts'
import { invalid, readText, readWord } from '../domain/options.ts'
import type { RunStatus } from '../domain/run.ts'
import type { JobFilter } from '../store/jobs.ts'
import { readInstant } from './enqueue-options.ts'

/** What Jobs can be searched by besides what has an index. A page looks at a bounded number of them. */
export interface JobSearch {
  /** What came of its Run; only Jobs that have ended. Without a type or a mark the latest start comes first. */
  readonly outcome?: RunStatus
  /** Jobs whose params have something there: names with dots between, and of items of lists their numbers: `user.emails.0`. */
  readonly paramsPath?: string
  /** And this value, as a person writes it: `42`, `true`, a text without quotes. */
  readonly paramsValue?: string
  /** A text in the error of its Run, whichever way it is capitalised. */
  readonly error?: string
  /** Accepted at this instant or later. */
  readonly createdAfter?: Date | number
  /** Accepted before this instant. */
  readonly createdBefore?: Date | number
}

export const SEARCH_KEYS = [
  'outcome',
  'paramsPath',
  'paramsValue',
  'error',
  'createdAfter',
  'createdBefore',
] as const satisfies readonly (keyof JobSearch)[]

const PATH_PARTS_MAX = 64
const TEXT_LENGTH_MAX = 1_000

type SearchFilter = Pick<
  JobFilter,
  'outcome' | 'paramsPath' | 'paramsValue' | 'error' | 'createdFrom' | 'createdBefore'
>

export function readSearch(search: JobSearch, status: JobStatus | undefined): SearchFilter {
  const { outcome, paramsPath, paramsValue, error, createdAfter, createdBefore } = search
  if (paramsValue !== undefined && paramsPath === undefined) {
    throw new PawlError('invalid_option', 'Expected `paramsPath` too: it says where `paramsValue` is looked for.', {
      path: 'paramsPath',
    })
  }
  return {
    ...(outcome !== undefined && { outcome: readOutcome(outcome, status) }),
    ...(paramsPath !== undefined && { paramsPath: readPath(paramsPath) }),
    ...(paramsValue !== undefined && { paramsValue: readWanted(paramsValue, 'paramsValue', 0) }),
    ...(error !== undefined && { error: readWanted(error, 'error', 1) }),
    ...(createdAfter !== undefined && { createdFrom: readInstant(createdAfter, 'createdAfter') }),
    ...(createdBefore !== undefined && { createdBefore: readInstant(createdBefore, 'createdBefore') }),
  }
}

function readOutcome(outcome: unknown, status: JobStatus | undefined): RunStatus {
  const word = readWord(outcome, ['COMPLETED', 'FAILED', 'SKIPPED'], 'outcome')
  if (status === undefined || status === 'FINISHED' || status === 'CANCELLED') return word
  throw new PawlError('invalid_option', `Expected no \`outcome\` of Jobs that are ${status}: they have none yet.`, {
    path: 'outcome',
  })
}

function readPath(path: unknown): readonly string[] {
  const parts = readWanted(path, 'paramsPath', 1).split('.')
  if (parts.length <= PATH_PARTS_MAX && parts.every((part) => part !== '')) return parts
  throw invalid('paramsPath', `up to ${PATH_PARTS_MAX} names with dots between, such as \`user.id\``, path)
}

function readWanted(text: unknown, path: string, min: number): string {
  if (text === '' && min === 0) return ''
  const wanted = readText(text, path)
  if (wanted.length <= TEXT_LENGTH_MAX) return wanted
  throw invalid(path, `a text of at most ${TEXT_LENGTH_MAX} characters`, text)
}
