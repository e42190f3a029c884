import { type Body, describe, type Facts } from './facts.ts'

/** I2 and I4. No body without its Run, and no two of the same Run or Job. */
export function* bodiesBelongToRuns({ bodies, jobs, reservations, killedAt }: Facts): Iterable<string> {
  const begun = new Map<string, Body>()
  for (const body of bodies) {
    const { runId, jobId, node, n } = body.began
    const other = begun.get(jobId)
    if (other !== undefined) yield `I4: two bodies of ${jobId} (${n}) began, on ${other.began.node} and ${node}.`
    begun.set(jobId, body)
    if (body.ended === null && !killedAt.has(node)) yield `I15: a body of ${n} on ${node}, which lives, has not ended.`
    if (reservations.has(jobId)) continue
    const run = jobs.get(jobId)?.run
    if (run?.runId !== runId || run.node !== node) {
      yield `I2: a body of ${n} began on ${node} for Run ${runId}, but Job ${jobId} has ${run?.runId ?? 'no Run'} on ${run?.node}.`
    }
  }
}

/** I16. A Run ended as its body did; or its node was killed or cut off; or somebody aborted it; or its group skipped it. */
export function* runsHaveCauses(facts: Facts): Iterable<string> {
  for (const job of facts.evidence.history.jobs) {
    const { order, run } = job
    if (run === null || run.status === null) continue
    const said = `I16: the Run ${run.runId} of ${describe(job)} on ${run.node} is ${run.status} ${run.reason ?? ''}`
    const body = facts.bodyOf.get(run.runId)
    if (run.reason === 'crash') {
      if (!facts.isUnreliable(run.node)) yield `${said}, but its node was never killed.`
    } else if (run.reason === 'cancelled') {
      const isAsked = facts.cancelsOf.get(order.n)?.some(({ mode }) => mode === 'abort') === true
      if (!isAsked) yield `${said}, but nobody asked to abort it.`
    } else if (body === undefined) {
      const isOfGroup = run.status === 'SKIPPED' && facts.groupOf.get(order.n)?.onFailure === 'skip'
      if (!isOfGroup) yield `${said}, but has no body.`
    } else {
      const expected = `${run.status} ${run.reason ?? ''}`.trim()
      const became = BECOMES[body.ended?.how ?? 'cut off']
      if (became !== expected) yield `${said}, but its body ${body.ended?.how ?? 'was cut off'}.`
    }
  }
}

const BECOMES: Readonly<Record<string, string>> = {
  returned: 'COMPLETED',
  threw: 'FAILED error',
  skipped: 'SKIPPED',
}
