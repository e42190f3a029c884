import type { Why } from '../../domain/why.ts'
import { wireInstant } from '../../domain/wire.ts'

/** The answer as the API gives it: other names, and instants as texts. */
export function wireWhy({ jobId, state, summary, reasons, queueRank, queueRankText }: Why) {
  return {
    job_id: jobId,
    state,
    summary,
    reasons: reasons.map(({ code, message, ...facts }) => ({ code, message, ...wireFacts(facts) })),
    queue_rank: queueRank,
    queue_rank_text: queueRankText,
  }
}

function wireFacts(facts: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(facts).map(([name, value]) => [wireName(name), wireFact(name, value)]))
}

function wireFact(name: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => wireFact(name, item))
  if (typeof value === 'object' && value !== null) return wireFacts(value)
  return typeof value === 'number' && name.endsWith('At') ? wireInstant(value) : value
}

/** As the fields of Jobs are called: `type` is `job_type` there. */
function wireName(name: string): string {
  if (name === 'type') return 'job_type'
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
