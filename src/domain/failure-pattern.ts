/** Of an error, what is alike in all that have the same cause. */
export interface FailurePattern {
  /** What kind of error it was, such as `TypeError`. Null: a plain one. */
  readonly name: string | null
  /** Its first line, with numbers, ids and times taken out. */
  readonly pattern: string
}

const PATTERN_LENGTH_MAX = 300

const NAME = /^([A-Z][A-Za-z0-9_$]*(?:Error|Exception|Warning|Abort|Timeout)): /

/** In this order: what is part of something longer comes after it. */
const VARIABLE: readonly (readonly [RegExp, string])[] = [
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi, '<id>'],
  [/\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?/g, '<time>'],
  [/\b0x[0-9a-f]+\b/gi, '<id>'],
  [/\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b/gi, '<id>'],
  [/\d+(?:[.,:]\d+)*/g, '<n>'],
]

export function patternOf(error: string): FailurePattern {
  const [line = ''] = error.split('\n', 1)
  // Long enough for what is shown, so that a long line costs no more.
  let pattern = line.slice(0, 4 * PATTERN_LENGTH_MAX)
  for (const [variable, mark] of VARIABLE) pattern = pattern.replace(variable, mark)
  return { name: NAME.exec(line)?.[1] ?? null, pattern: pattern.slice(0, PATTERN_LENGTH_MAX) }
}
