import { chainOutcome } from './chain.ts'
import { decideDependency } from './dependency.ts'
import { RUNNING_LIMIT, resourceLimit, typeLimit } from './limits.ts'
import { LISTED_MAX, type LimitStanding, type QueuedStanding, RANK_MAX, type UnmetParent } from './standing.ts'
import { decidePlace } from './why-place.ts'
import { toWhyHolder, type WhyContext, type WhyReason } from './why-reason.ts'
import { because, cancelRequested } from './why-running.ts'
import { holderInWords, jobInWords, stateInWords } from './why-words.ts'
import { countInWords, durationInWords, instantInWords, listInWords } from './words.ts'

/**
 * First what holds this one Job, then what it shares with others. What is scarce now says nothing about a Job that is not
 * ready: by then others hold it, or nobody. That no node handles its type holds whenever it becomes ready.
 */
export function explainQueued(standing: QueuedStanding, context: WhyContext): WhyReason[] {
  const own = [
    ...orders(standing),
    ...predecessor(standing, context),
    ...parents(standing),
    ...delay(standing, context),
  ]
  const place = decidePlace(standing, context)
  const scarce = own.length > 0 ? [] : [...limits(standing, context), ...place.tickets, ...place.places]
  const shared = [...place.nodes, ...scarce]
  const reasons = [...own, ...shared]
  const ahead = standing.rank?.ahead ?? 0
  if (ahead > 0 && (shared.length > 0 || !place.canStartNow)) reasons.push(jobsAhead(standing))
  if (reasons.length > 0) return reasons
  return [{ code: 'ready', message: 'It is ready and starts at the next claim of a node that handles its type.' }]
}

/** What is about to happen to it because of its group. */
function orders({ job, groupOrder }: QueuedStanding): WhyReason[] {
  const wish = cancelRequested(job, groupOrder)
  if (wish !== null) return [wish]
  if (groupOrder === null) return []
  const { groupId, kind, reason } = groupOrder
  const word = kind === 'skip' ? 'skipped' : 'cancelled'
  const message = `Its group ${groupId} is being stopped${because(reason)}: it is ${word} in a moment.`
  return [{ code: 'group_stopped', message, groupId, jobId: null }]
}

function predecessor({ job, predecessor: holder }: QueuedStanding, context: WhyContext): WhyReason[] {
  if (job.hold !== 'predecessor') return []
  if (holder === null) {
    const nothing = { runId: null, reservationId: null, jobId: null, nodeId: null, nodeName: null, startedAt: null }
    const message = 'Waits for the body of its earlier attempt, which executes nowhere: the database was damaged.'
    return [{ code: 'predecessor_executing', message, ...nothing }]
  }
  const { runId, reservationId, jobId, nodeId, nodeName, startedAt } = toWhyHolder(holder, context)
  const words = holderInWords(toWhyHolder(holder, context), 'has been executing', context)
  const message = `The body of its earlier attempt still holds its place: ${words}.`
  return [{ code: 'predecessor_executing', message, runId, reservationId, jobId, nodeId, nodeName, startedAt }]
}

function parents({ job, unmetParents, unmetParentCount: count }: QueuedStanding): WhyReason[] {
  const reasons = unmetParents.map((parent): WhyReason => {
    const { parentId, last, onFailure, ofGroup } = parent
    const groupId = ofGroup ? job.groupId : null
    const facts = {
      groupId,
      parentId,
      jobId: last?.jobId ?? null,
      type: last?.type ?? null,
      status: last?.status ?? null,
      hold: last?.hold ?? null,
      outcome: last?.outcome ?? null,
      onParentFailure: onFailure,
      count,
    }
    const whom = parentInWords(parent)
    return ofGroup
      ? { code: 'group_order', message: `Waits for its turn in the sequential group ${groupId}: ${whom}.`, ...facts }
      : { code: 'waiting_for_parent', message: `Waits for ${whom}.`, ...facts }
  })
  const unnamed = count - unmetParents.length
  if (unnamed === 0) return reasons
  const nobody = { groupId: null, parentId: null, jobId: null, type: null, status: null, hold: null, outcome: null }
  const message = `Waits for ${countInWords(unnamed, 'more parent')}.`
  return [...reasons, { code: 'waiting_for_parent', message, ...nobody, onParentFailure: null, count }]
}

function parentInWords({ parentId, last, onFailure }: UnmetParent): string {
  if (last === null) return `job ${parentId}, which was pruned`
  const words = `${jobInWords(last)}, which ${stateInWords(last)}`
  const outcome = chainOutcome(last)
  if (outcome === null) return words
  switch (decideDependency(outcome, onFailure)) {
    case 'met':
      return `${words}: it is released in a moment`
    case 'cancel':
      return `${words}: it is cancelled in a moment`
    case 'wait':
      return `${words}: it goes on when somebody retries that one and it succeeds`
  }
}

function delay({ job }: QueuedStanding, { now }: WhyContext): WhyReason[] {
  const { runAt, attempt, retryOf } = job
  if (runAt <= now) return []
  const what = retryOf === null ? 'Delayed' : `Delayed, as attempt ${attempt} after a failure,`
  const message = `${what} until ${instantInWords(runAt)}, for ${durationInWords(runAt - now)} more.`
  return [{ code: 'delayed', message, runAt }]
}

function limits({ limits: all, job }: QueuedStanding, context: WhyContext): WhyReason[] {
  const isUsedUp = ({ max, taken }: LimitStanding): boolean => taken >= max
  const own = job.policy.resources.map(resourceLimit)
  const order = [...own, typeLimit(job.type), RUNNING_LIMIT]
  const rank = ({ name }: LimitStanding): number => order.indexOf(name)
  return all
    .filter(isUsedUp)
    .sort((a, b) => rank(a) - rank(b))
    .map((limit) => limitReason(limit, context))
}

function limitReason({ name, max, taken, holders: all }: LimitStanding, context: WhyContext): WhyReason {
  const holders = all.slice(0, LISTED_MAX).map((holder) => toWhyHolder(holder, context))
  const held = holders.map((holder) => holderInWords(holder, 'has held it', context))
  const list = held.length === 0 ? '' : `: ${listInWords(held, taken)}`
  const counted = `(${taken} of ${max} taken)${list}.`
  const facts = { name, max, taken, holders }
  if (name === RUNNING_LIMIT) {
    return { code: 'running_limit', message: `Waits for the store's \`maxRunning\` ${counted}`, ...facts }
  }
  const [kind, ...rest] = name.split(':')
  const subject = rest.join(':')
  return kind === 'type'
    ? { code: 'type_limit', message: `Waits for the limit of type \`${subject}\` ${counted}`, ...facts }
    : { code: 'resource_limit', message: `Waits for resource \`${subject}\` ${counted}`, ...facts }
}

function jobsAhead({ rank }: QueuedStanding): WhyReason {
  const { ahead: count, first: jobs } = rank ?? { ahead: 0, first: [] }
  const [next] = jobs
  const which = next === undefined ? '' : `; the next is ${jobInWords(next)} with priority ${next.priority}`
  const verb = count === 1 ? 'comes' : 'come'
  const message = `${countInWords(count, 'ready job', RANK_MAX)} ${verb} before it in the queue${which}.`
  return { code: 'jobs_ahead', message, count, jobs }
}
