import { usageError } from './cli-error.ts'
import { refuseChangedNumbers } from './exact-numbers.ts'

/** Jobs from a file: a JSON list, `{ "jobs": [ … ] }`, one JSON object, or one object a line. */
export function readJobList(text: string, file: string): unknown[] {
  const whole = parse(text)
  const jobs = whole === undefined ? readLines(text, file) : listOf(whole.value)
  refuseChangedNumbers(text, file)
  if (jobs === null) throw usageError(`Expected ${file} to hold a JSON list of jobs, or one JSON object a line.`)
  if (jobs.length === 0) throw usageError(`Expected ${file} to hold at least one job, got none.`)
  return jobs
}

function listOf(value: unknown): unknown[] | null {
  if (Array.isArray(value)) return value
  if (typeof value !== 'object' || value === null) return null
  const { jobs } = value as { jobs?: unknown }
  if (jobs === undefined) return [value]
  return Array.isArray(jobs) ? jobs : null
}

function readLines(text: string, file: string): unknown[] {
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return []
    const parsed = parse(line)
    if (parsed !== undefined) return [parsed.value]
    throw usageError(`Expected line ${index + 1} of ${file} to be one JSON object, as in {"type":"story"}.`)
  })
}

function parse(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}
