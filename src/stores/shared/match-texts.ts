import type { JobFilter } from '../../store/jobs.ts'

/** Jobs whose texts are read at a time. */
export const TEXTS_AT_ONCE = 64

/** A page reads no more of them than this, in characters: params may be large, and each is parsed. */
const TEXTS_LENGTH_MAX = 16 * 1_048_576

/** What a page may still read. */
export class TextBudget {
  #left = TEXTS_LENGTH_MAX

  get isSpent(): boolean {
    return this.#left <= 0
  }

  spend(text: string | null): void {
    this.#left -= text?.length ?? 0
  }
}

export function asksForTexts({ paramsPath, error }: JobFilter): boolean {
  return paramsPath !== undefined || error !== undefined
}

/** Whether the params have something at the path that is asked for, and it is what is asked for. */
export function matchesParams(params: string, { paramsPath = [], paramsValue }: JobFilter): boolean {
  let value: unknown = JSON.parse(params)
  for (const name of paramsPath) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return false
    value = (value as Readonly<Record<string, unknown>>)[name]
  }
  return paramsValue === undefined || isWritten(value, paramsValue)
}

/** Whether a person who means this value may write it so. */
function isWritten(value: unknown, text: string): boolean {
  if (typeof value === 'string') return value === text
  if (typeof value === 'number') return text.trim() !== '' && Number(text) === value
  return JSON.stringify(value) === text
}

/** Whichever way it is capitalised. */
export function matchesError(error: string | null, { error: wanted = '' }: JobFilter): boolean {
  return error?.toLowerCase().includes(wanted.toLowerCase()) === true
}
