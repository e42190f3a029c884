// A checker that finds nothing is worth nothing, unless it finds what is there: each rule is shown a small history that breaks it.
import { expect, test } from 'vitest'
import { type Evidence, findContradictions } from './checker.ts'
import type { StoredJob, StoredRun } from './history.ts'
import type { Note } from './record.ts'
import { type Call, followUpOf, type Order, type Request } from './workload.ts'

const request = (order: Order, rest: Partial<Request> = {}): Request => ({
  type: 'free',
  order,
  options: {},
  parents: [],
  ...rest,
})

const CALLS: readonly Call[] = [
  { kind: 'one', requests: [request({ n: 1, does: 'completes' }, { type: 'press', options: { delayMs: 500 } })] },
  { kind: 'one', requests: [request({ n: 2, does: 'completes' }, { type: 'press', parents: [1] })] },
  { kind: 'one', requests: [request({ n: 3, does: 'falters', times: 1 })] },
  {
    kind: 'group',
    mode: 'sequential',
    onFailure: 'stop',
    requests: [request({ n: 4, does: 'refuses' }), request({ n: 5, does: 'completes' })],
  },
  { kind: 'one', requests: [request({ n: 6, does: 'completes' })] },
]

const orders = new Map(CALLS.flatMap(({ requests }) => requests.map(({ order }) => [order.n, order])))

function job(n: number, attempt: number, run: Partial<StoredRun> | null, rest: Partial<StoredJob> = {}): StoredJob {
  const order = orders.get(n) ?? { n, does: 'completes' }
  const whole: StoredRun = { runId: `run-${n}.${attempt}`, status: 'COMPLETED', reason: null, node: 'a', ...run }
  const status = run === null ? 'CANCELLED' : 'FINISHED'
  const ids = { jobId: `job-${n}.${attempt}`, chainId: `job-${n}.1`, attempt, groupId: null }
  return { ...ids, order, status, run: run === null ? null : whole, ...rest }
}

function notes(n: number, attempt: number, from: number, until: number | null, how = 'returned', node = 'a'): Note[] {
  const type = n <= 2 ? 'press' : 'free'
  const about = { node, type, n, jobId: `job-${n}.${attempt}`, runId: `run-${n}.${attempt}`, attempt }
  const began: Note = { ...about, at: from, what: 'began', how: null }
  return until === null ? [began] : [began, { ...about, at: until, what: 'ended', how }]
}

/** Everything as it should be: 1, then its child 2; 3 at its second attempt; 4, which ends its group; 6, after a kill. */
const SOUND: Evidence = {
  calls: CALLS,
  limits: [{ name: 'press', max: 1, types: ['press'] }],
  concurrency: 2,
  recorded: {
    acks: [1, 2, 3, 4, 5, 6].map((n) => ({ n, jobId: `job-${n}.1`, askedAt: 0, answeredAt: 1 })),
    notes: [
      ...notes(1, 1, 600, 610),
      ...notes(2, 1, 620, 630),
      ...notes(3, 1, 640, 650, 'threw'),
      ...notes(4, 1, 700, 710, 'threw'),
      ...notes(6, 1, 720, null, 'returned', 'killed'),
      ...notes(3, 2, 1_000, 1_010),
      ...notes(6, 2, 20_000, 20_010),
    ],
    kills: [{ node: 'killed', at: 730 }],
  },
  history: {
    jobs: [
      job(1, 1, {}),
      job(2, 1, {}),
      job(3, 1, { status: 'FAILED', reason: 'error' }),
      job(3, 2, {}),
      job(4, 1, { status: 'FAILED', reason: 'error' }, { groupId: 'group' }),
      job(5, 1, null, { groupId: 'group' }),
      job(6, 1, { status: 'FAILED', reason: 'crash', node: 'killed' }),
      job(6, 2, {}),
    ],
    groups: [
      { groupId: 'group', isSettled: true, counts: { total: 2, completed: 0, failed: 1, skipped: 0, cancelled: 1 } },
    ],
  },
}

const { recorded, history } = SOUND
const withNotes = (change: (all: readonly Note[]) => readonly Note[]): Evidence => ({
  ...SOUND,
  recorded: { ...recorded, notes: change(recorded.notes).toSorted((a, b) => a.at - b.at) },
})
const withJobs = (change: (all: readonly StoredJob[]) => readonly StoredJob[]): Evidence => ({
  ...SOUND,
  history: { ...history, jobs: change(history.jobs) },
})
const insteadOf = (jobId: string, other: StoredJob) =>
  withJobs((all) => all.map((one) => (one.jobId === jobId ? other : one)))
const later = (runId: string, ms: number) =>
  withNotes((all) => all.map((note) => (note.runId === runId ? { ...note, at: note.at + ms } : note)))

test('a sound history is not contradicted', () => {
  expect(findContradictions(SOUND)).toEqual([])
})

test.each<[string, Evidence, RegExp]>([
  ['a lost Job', withJobs((all) => all.filter(({ order }) => order.n !== 1)), /1 was acknowledged .* does not exist/],
  ['a Job made twice', withJobs((all) => [...all, job(1, 1, null, { jobId: 'b', chainId: 'b' })]), /1 made 2 chains/],
  ['a Job nobody asked for', withJobs((all) => [...all, job(9, 1, {})]), /\(9\) was never asked for/],
  ['a follow-up of nothing', withJobs((all) => [...all, job(followUpOf(1), 1, {})]), /follow-up of 1 exists without/],
  ['a Job that waits', insteadOf('job-5.1', job(5, 1, null, { status: 'QUEUED' })), /\(5\) is still QUEUED/],
  ['an open Run', insteadOf('job-1.1', job(1, 1, { status: null })), /\(1\) is still open/],
  ['a missing attempt', withJobs((all) => all.filter(({ jobId }) => jobId !== 'job-3.1')), /has the attempts 2\./],
  ['a retry of a success', insteadOf('job-3.1', job(3, 1, {})), /job-3.1 was retried, but its Run is COMPLETED/],
  ['a body of another Run', insteadOf('job-1.1', job(1, 1, { runId: 'other' })), /for Run run-1.1, but .* other on a/],
  ['two bodies', withNotes((all) => [...all, ...notes(1, 1, 900, 910)]), /Two bodies of Job job-1.1/],
  ['a body without an end', withNotes((all) => all.filter(({ at }) => at !== 630)), /which lives, has not ended/],
  ['a crash of nobody', insteadOf('job-6.1', job(6, 1, { status: 'FAILED', reason: 'crash' })), /was never killed/],
  ['a Run without a body', withNotes((all) => all.filter(({ n }) => n !== 2)), /\(2\) on a is COMPLETED .*no body/],
  ['another outcome', insteadOf('job-1.1', job(1, 1, { status: 'FAILED', reason: 'error' })), /but its body returned/],
  ['a failure not ordered', insteadOf('job-2.1', job(2, 1, null)), /2, completes\) ended CANCELLED, but should/],
  ['a member not stopped', insteadOf('job-5.1', job(5, 1, {}, { groupId: 'group' })), /should have ended CANCELLED/],
  [
    'too few attempts',
    insteadOf('job-3.2', job(3, 2, { status: 'FAILED', reason: 'error' })),
    /given up after 2 errors/,
  ],
  ['two holders', later('run-1.1', 15), /2 bodies at once held the limit press of 1/],
  ['too many bodies', { ...SOUND, concurrency: 0 }, /1 bodies at once held the places of a of 0/],
  ['an early child', later('run-2.1', -25), /2 began on a at 595, before its parent 1 ended at 610/],
  ['an early start', later('run-1.1', -300), /1 began 100 ms too early/],
  ['an early retry', later('run-3.2', -200), /Attempt 2 of 3 began 50 ms too early/],
  [
    'a wrong count',
    { ...SOUND, history: { ...history, jobs: history.jobs.filter(({ order }) => order.n !== 5) } },
    /Group group says/,
  ],
  [
    'a group that goes on',
    { ...SOUND, history: { ...history, groups: history.groups.map((group) => ({ ...group, isSettled: false })) } },
    /has not settled/,
  ],
])('it finds %s', (_, evidence, sentence) => {
  expect(findContradictions(evidence)).toContainEqual(expect.stringMatching(sentence))
})
