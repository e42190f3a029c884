const EXCERPT_CHARACTERS_MAX = 1_024
/** No character takes more bytes than this in UTF-8. */
const EXCERPT_BYTES_MAX = EXCERPT_CHARACTERS_MAX * 4

/** Reads a body to its end, and keeps only what its excerpt needs. */
export async function readExcerpt(body: AsyncIterable<Uint8Array>): Promise<string> {
  const kept: Uint8Array[] = []
  let keptBytes = 0
  for await (const chunk of body) {
    if (keptBytes >= EXCERPT_BYTES_MAX) continue
    kept.push(chunk.subarray(0, EXCERPT_BYTES_MAX - keptBytes))
    keptBytes += chunk.length
  }
  return harmless(new TextDecoder().decode(Buffer.concat(kept)), EXCERPT_CHARACTERS_MAX)
}

/**
 * A stranger's text, fit to be stored and shown in a terminal: line breaks and tabs become spaces, and everything that
 * could move the cursor, change colours or turn the reading direction becomes a replacement character.
 */
export function harmless(text: string, charactersMax: number): string {
  return text
    .slice(0, charactersMax)
    .replace(/[\t\n\r]/g, ' ')
    .replace(/[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu, '\uFFFD')
    .replace(/[\uD800-\uDBFF]$/, '')
}

const RETRY_AFTER_MAX_MS = 86_400_000
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/

/** How long a receiver asks us to wait, at most a day, or null when it does not say so in a form we know. */
export function retryAfterMs(header: string | readonly string[] | undefined, now: number): number | null {
  if (typeof header !== 'string') return null
  const waitMs = /^\d+$/.test(header) ? Number(header) * 1000 : HTTP_DATE.test(header) ? Date.parse(header) - now : NaN
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(0, waitMs), RETRY_AFTER_MAX_MS)
}
