import { parseExact } from '../api/exact-json.ts'

export type Read = { readonly value: unknown; readonly wrong: null } | { readonly value: null; readonly wrong: string }

/** What somebody typed as JSON; numbers stay as they were typed. Nothing typed: `undefined`. */
export function readJsonText(text: string): Read {
  if (text.trim() === '') return { value: undefined, wrong: null }
  try {
    JSON.parse(text)
    return { value: parseExact(text), wrong: null }
  } catch (error) {
    return { value: null, wrong: `This is not JSON: ${(error as Error).message}` }
  }
}
