import type { Examined } from './check.ts'

export type Counts = Readonly<Record<string, number>>

/** What happened in a round, for whoever wants to know whether it shows anything. */
export function countsOf({ recorded, history }: Pick<Examined, 'recorded' | 'history'>): Counts {
  const { acks, refusals, cancels, retries, directs, notes } = recorded
  const ended = new Set(notes.filter(({ what }) => what === 'ended').map(({ runId }) => runId))
  const began = notes.filter(({ what }) => what === 'began')
  const answered = new Set([...acks, ...refusals, ...cancels, ...retries, ...directs].map(({ askedAt }) => askedAt))
  return {
    jobs: history.jobs.length,
    acknowledged: new Set(acks.map(({ n }) => n)).size,
    'answers never heard': Math.max(0, recorded.asked.length - answered.size),
    bodies: began.length,
    'bodies cut off': began.filter(({ runId }) => !ended.has(runId)).length,
    'crashes recovered': history.jobs.filter(({ run }) => run?.reason === 'crash').length,
    cancels: cancels.length,
    'retries by hand': retries.length,
    'direct executions': directs.length,
    slots: history.jobs.filter(({ slotAt, attempt }) => slotAt !== null && attempt === 1).length,
    'messages received': recorded.received.length,
    'ends seen twice': recorded.seen.length,
  }
}

export function addUp(a: Counts, b: Counts): Counts {
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return Object.fromEntries([...names].map((name) => [name, (a[name] ?? 0) + (b[name] ?? 0)]))
}
