// A checker that finds nothing is worth nothing, unless it finds what is there: each rule is shown a small history that breaks it.
import { expect, test } from 'vitest'
import { type Evidence, findContradictions } from '../../torture/outside/contradictions/index.ts'
import type { StoredDelivery, StoredJob, StoredReservation, StoredRun } from '../../torture/outside/history.ts'
import type { Note, Received, Recorded } from '../../torture/outside/record.ts'
import { type Act, followUpOf, type Order, type Request } from '../../torture/outside/workload.ts'

const request = (order: Order, rest: Partial<Request> = {}): Request => ({
  type: 'free',
  order,
  options: {},
  parents: [],
  ...rest,
})
const alone = (order: Order, rest: Partial<Request> = {}): Act => ({ kind: 'one', requests: [request(order, rest)] })

const KEYED = { options: { businessKey: 'holder' } }

const ACTS: readonly Act[] = [
  alone({ n: 1, does: 'completes' }, { type: 'press', options: { delayMs: 500 } }),
  alone({ n: 2, does: 'completes' }, { type: 'press', parents: [1] }),
  alone({ n: 3, does: 'falters', times: 1 }),
  {
    kind: 'group',
    mode: 'sequential',
    onFailure: 'stop',
    requests: [request({ n: 4, does: 'refuses' }), request({ n: 5, does: 'completes' })],
  },
  alone({ n: 6, does: 'completes' }),
  alone({ n: 7, does: 'completes' }, { type: 'told' }),
  alone({ n: 8, does: 'completes' }, KEYED),
  alone({ n: 9, does: 'completes' }, KEYED),
  alone({ n: 10, does: 'completes' }, KEYED),
  alone({ n: 11, does: 'completes' }),
  { kind: 'cancel', n: 11, mode: 'abort' },
  alone({ n: 12, does: 'refuses' }),
  { kind: 'retry', n: 12 },
  { kind: 'direct', type: 'press', order: { n: 13, does: 'completes', direct: true } },
  { kind: 'direct', type: 'press', order: { n: 14, does: 'completes', direct: true } },
]
const CANCEL = 10
const RETRY = 12

const orders = new Map(
  ACTS.flatMap((act) => ('requests' in act ? act.requests : [])).map(({ order }) => [order.n, order]),
)
const typeOf = (n: number) =>
  ({ 1: 'press', 2: 'press', 7: 'told', 13: 'press', 14: 'press', 15: 'press' })[n] ?? 'free'

function job(n: number, attempt: number, run: Partial<StoredRun> | null, rest: Partial<StoredJob> = {}): StoredJob {
  const order = orders.get(n) ?? { n, does: 'completes' }
  const jobId = `job-${n}.${attempt}`
  const willRetry = run?.reason === 'error' || run?.reason === 'crash'
  const whole: StoredRun = {
    runId: `run-${n}.${attempt}`,
    status: 'COMPLETED',
    reason: null,
    node: 'a',
    willRetry,
    ...run,
  }
  return {
    jobId,
    chainId: `job-${n}.1`,
    attempt,
    retryOf: attempt === 1 ? null : `job-${n}.${attempt - 1}`,
    groupId: null,
    type: typeOf(n),
    order,
    status: run === null ? 'CANCELLED' : 'FINISHED',
    priority: 0,
    position: n * 100,
    createdAt: n,
    runAt: n,
    businessKey: null,
    scheduleId: null,
    slotAt: null,
    cancelReason: null,
    run: run === null ? null : whole,
    ...rest,
  }
}

const WALL = 1_000_000

function notes(n: number, attempt: number, from: number, until: number | null, how = 'returned', node = 'a'): Note[] {
  const ids =
    n > 12
      ? { jobId: `ticket-${n}`, runId: `ticket-${n}` }
      : { jobId: `job-${n}.${attempt}`, runId: `run-${n}.${attempt}` }
  const note = (what: Note['what'], at: number, ended: string | null): Note => {
    return { is: 'body', at, wall: WALL + at, node, what, type: typeOf(n), n, ...ids, attempt, how: ended }
  }
  return until === null ? [note('began', from, null)] : [note('began', from, null), note('ended', until, how)]
}

function slot(slotAt: number, rest: Partial<StoredJob> = {}): StoredJob {
  const jobId = `slot-${slotAt}`
  const run: StoredRun = { runId: `run-${slotAt}`, status: 'COMPLETED', reason: null, node: 'a', willRetry: false }
  const order: Order = { n: 0, does: 'completes' }
  const about = {
    jobId,
    chainId: jobId,
    order,
    type: 'timed',
    run,
    scheduleId: 'schedule',
    slotAt,
    createdAt: slotAt + 5,
  }
  return { ...job(0, 1, {}), ...about, ...rest }
}

const ofSlots = [5_000, 6_000, 7_000]
const slotNotes = ofSlots.flatMap((at) =>
  notes(0, 1, 50_000 + at, 50_001 + at).map((note) => ({
    ...note,
    jobId: `slot-${at}`,
    runId: `run-${at}`,
    type: 'timed',
  })),
)

const ticket = (n: number, startedAt: number): StoredReservation => ({
  reservationId: `ticket-${n}`,
  number: n,
  type: 'press',
  order: { n, does: 'completes', direct: true },
  status: 'RELEASED',
  outcome: 'COMPLETED',
  reason: null,
  result: `${n}`,
  node: 'a',
  startedAt: WALL + startedAt,
})

const delivery = (event: string): StoredDelivery => {
  return { deliveryId: `message of ${event}`, jobId: 'job-7.1', event, status: 'DELIVERED', attempts: 1 }
}
const received = (event: string, answer = '200'): Received => {
  return { is: 'received', at: 0, id: `message of ${event}`, event, jobId: 'job-7.1', digest: event, answer }
}

const [cancelledAt, retriedAt] = [
  { askedAt: 750, answeredAt: 751 },
  { askedAt: 30_000, answeredAt: 30_001 },
]

const JOBS: readonly StoredJob[] = [
  job(1, 1, {}),
  job(2, 1, {}),
  job(3, 1, { status: 'FAILED', reason: 'error' }),
  job(3, 2, {}),
  job(4, 1, { status: 'FAILED', reason: 'error', willRetry: false }, { groupId: 'group' }),
  job(5, 1, null, { groupId: 'group' }),
  job(6, 1, { status: 'FAILED', reason: 'crash', node: 'killed' }),
  job(6, 2, {}),
  job(7, 1, {}),
  job(8, 1, {}, { businessKey: 'holder' }),
  job(9, 1, {}, { businessKey: 'holder' }),
  job(11, 1, null),
  job(12, 1, { status: 'FAILED', reason: 'error', willRetry: false }),
  job(12, 2, { status: 'FAILED', reason: 'error', willRetry: false }),
  ...ofSlots.map((at) => slot(at)),
]

/**
 * Everything as it should be: 1, then its child 2; 3 at its second attempt; 4, which ends its group; 6, after a kill; 7, of
 * which somebody is told; 8 and 9 with the same key one after the other, and 10 refused; 11 cancelled; 12 tried again by hand;
 * the direct executions 13 and 14; and three slots.
 */
const SOUND: Evidence = {
  acts: { client: ACTS },
  limits: [{ name: 'press', max: 1, types: ['press'] }],
  concurrency: 2,
  toldTypes: ['told'],
  lastSeen: new Map([['Run run-1.1', 'as it was']]),
  recorded: {
    asked: ACTS.map((_, act) => {
      const at = act === CANCEL ? cancelledAt.askedAt : act === RETRY ? retriedAt.askedAt : 0
      return { is: 'asked', by: 'client', act, at }
    }),
    acks: [
      ...[1, 2, 3, 4, 5, 6, 7, 11, 12].map((n) => [n, 0, 1] as const),
      ...([
        [8, 0, 1],
        [9, 800, 801],
      ] as const),
    ].map(([n, askedAt, answeredAt]) => ({ is: 'ack', n, jobId: `job-${n}.1`, askedAt, answeredAt })),
    refusals: [{ is: 'refused', by: 'client', act: 8, askedAt: 0, answeredAt: 1, code: 'business_key_taken' }],
    cancels: [{ is: 'cancelled', n: 11, kind: 'cancelled', jobId: 'job-11.1', ...cancelledAt }],
    retries: [{ is: 'retried', n: 12, kind: 'created', jobId: 'job-12.2', ...retriedAt }],
    directs: [13, 14].map((n) => {
      return { is: 'direct', n, reservationId: `ticket-${n}`, how: 'returned', result: n, askedAt: 0, answeredAt: 900 }
    }),
    notes: [
      ...notes(1, 1, 600, 610),
      ...notes(2, 1, 620, 630),
      ...notes(3, 1, 640, 650, 'threw'),
      ...notes(4, 1, 700, 710, 'threw'),
      ...notes(6, 1, 720, null, 'returned', 'killed'),
      ...notes(7, 1, 740, 745),
      ...notes(8, 1, 760, 790),
      ...notes(9, 1, 810, 820),
      ...notes(12, 1, 830, 831, 'threw'),
      ...notes(13, 1, 840, 850),
      ...notes(14, 1, 860, 870),
      ...notes(3, 2, 1_000, 1_010),
      ...notes(6, 2, 20_000, 20_010),
      ...notes(12, 2, 30_010, 30_011, 'threw'),
      ...slotNotes,
    ],
    kills: [{ is: 'killed', node: 'killed', at: 730 }],
    faults: [],
    received: [received('job.run.completed', '500'), received('job.run.completed'), received('job.settled')],
    seen: [{ is: 'seen', at: 700, what: 'Run run-1.1', digest: 'as it was' }],
    schedules: [
      {
        is: 'schedule',
        scheduleId: 'schedule',
        everyMs: 1_000,
        anchorAt: 0,
        overlap: 'allow',
        createdAfter: 4_100,
        createdBefore: 4_200,
        enabledUntil: 7_500,
        disabledBefore: 7_600,
      },
    ],
  },
  history: {
    jobs: JOBS,
    endings: new Map(JOBS.map(({ jobId }) => [jobId, 1])),
    groups: [
      {
        groupId: 'group',
        status: 'PARTIAL',
        isSettled: true,
        counts: { total: 2, completed: 0, failed: 1, skipped: 0, cancelled: 1 },
      },
    ],
    reservations: [ticket(13, 839), ticket(14, 859)],
    deliveries: [delivery('job.run.completed'), delivery('job.settled')],
    schedules: [{ scheduleId: 'schedule', anchorAt: 0, skipped: [] }],
    commits: [
      { number: 1, queued: ['job-6.1', 'job-11.1', 'job-3.1'], started: [], ended: [] },
      { number: 2, queued: [], started: ['job-3.1'], ended: [] },
      { number: 3, queued: [], started: ['job-6.1'], ended: ['job-11.1'] },
    ],
  },
}

const { recorded, history } = SOUND
const recording = (change: Partial<Recorded>): Evidence => ({ ...SOUND, recorded: { ...recorded, ...change } })
const storing = (change: Partial<Evidence['history']>): Evidence => ({ ...SOUND, history: { ...history, ...change } })
const withNotes = (change: (all: readonly Note[]) => readonly Note[]): Evidence =>
  recording({ notes: change(recorded.notes).toSorted((a, b) => a.at - b.at) })
const withJobs = (change: (all: readonly StoredJob[]) => readonly StoredJob[]): Evidence =>
  storing({ jobs: change(history.jobs) })
const insteadOf = (jobId: string, other: StoredJob) =>
  withJobs((all) => all.map((one) => (one.jobId === jobId ? other : one)))
const without = (jobId: string) => withJobs((all) => all.filter((one) => one.jobId !== jobId))
const later = (runId: string, ms: number) =>
  withNotes((all) =>
    all.map((note) => (note.runId === runId ? { ...note, at: note.at + ms, wall: note.wall + ms } : note)),
  )
const directly = (how: string, result: unknown = null) =>
  recording({ directs: recorded.directs.map((one) => (one.n === 13 ? { ...one, how, result } : one)) })
const withTicket = (change: Partial<StoredReservation>) =>
  storing({ reservations: history.reservations.map((one) => (one.order.n === 13 ? { ...one, ...change } : one)) })
const skipped = (slotAt: number) => [{ from: slotAt, to: slotAt, reason: 'overlap' }]

test('a sound history is not contradicted', () => {
  expect(findContradictions(SOUND)).toEqual([])
})

test.each<[string, Evidence, RegExp]>([
  // Requests
  ['a lost Job', without('job-1.1'), /I1: request 1 was acknowledged .* does not exist/],
  [
    'a Job acknowledged as another one',
    insteadOf('job-1.1', { ...job(2, 1, {}), jobId: 'job-1.1' }),
    /I1: .* is attempt 1 of 2/,
  ],
  [
    'a Job made twice',
    withJobs((all) => [...all, job(1, 1, null, { jobId: 'b', chainId: 'b' })]),
    /I10: request 1 made 2/,
  ],
  ['a Job nobody asked for', withJobs((all) => [...all, job(99, 1, {})]), /I2: Job .*\(99\) was never asked for/],
  ['a Job that was refused', withJobs((all) => [...all, job(10, 1, {})]), /I2: request 10 was refused .* but made/],
  [
    'a refusal without a reason',
    recording({ refusals: [{ ...refusal(), act: 0 }] }),
    /I16: act 0 of client .* refused/,
  ],
  ['a follow-up of nothing', withJobs((all) => [...all, job(followUpOf(1), 1, {})]), /I2: the follow-up of 1 exists/],
  // Ends
  ['a Job that waits', insteadOf('job-5.1', job(5, 1, null, { status: 'QUEUED' })), /I15: .* of 5, .* is still QUEUED/],
  ['an open Run', insteadOf('job-1.1', job(1, 1, { status: null })), /I15: Run .* of 1, .* is still open/],
  ['a ticket that waits', withTicket({ status: 'WAITING' }), /I15: reservation ticket-13 \(13\) is WAITING/],
  [
    'a message that waits',
    storing({ deliveries: history.deliveries.map((one) => ({ ...one, status: 'PENDING' })) }),
    /I15: delivery .* is still PENDING/,
  ],
  ['two ends', storing({ endings: new Map([...history.endings, ['job-1.1', 2]]) }), /I3: Job job-1.1 .* ended 2 times/],
  ['a missing attempt', without('job-3.1'), /I4: chain .* has the attempts 2\./],
  [
    'a retry of a success',
    insteadOf('job-3.1', job(3, 1, {})),
    /I4: Job job-3.1 .* was retried, but its Run is COMPLETED/,
  ],
  [
    'a retry nobody asked for',
    insteadOf('job-3.1', job(3, 1, { status: 'FAILED', reason: 'error', willRetry: false })),
    /I4: .* was not to be retried, but was/,
  ],
  ['a retry that is missing', without('job-3.2'), /I4: Job job-3.1 .* is to be retried, but is the last/],
  [
    'an end that changed',
    { ...SOUND, lastSeen: new Map([['Run run-1.1', 'other']]) },
    /I7: Run run-1.1 had ended, and has/,
  ],
  ['an end that is gone', { ...SOUND, lastSeen: new Map() }, /I3: Run run-1.1 had ended, and is gone/],
  // Bodies
  [
    'a body of another Run',
    insteadOf('job-1.1', job(1, 1, { runId: 'other' })),
    /I2: .*for Run run-1.1, but .* other on a/,
  ],
  ['two bodies', withNotes((all) => [...all, ...notes(1, 1, 900, 910)]), /I4: two bodies of job-1.1/],
  [
    'a body without an end',
    withNotes((all) => all.filter(({ at }) => at !== 630)),
    /I15: .*which lives, has not ended/,
  ],
  [
    'a crash of nobody',
    insteadOf('job-6.1', job(6, 1, { status: 'FAILED', reason: 'crash' })),
    /I16: .* FAILED crash, but its node was never killed/,
  ],
  [
    'an abort nobody asked for',
    insteadOf('job-1.1', job(1, 1, { status: 'FAILED', reason: 'cancelled' })),
    /I16: .* but nobody asked to abort it/,
  ],
  ['a Run without a body', withNotes((all) => all.filter(({ n }) => n !== 2)), /I16: .* COMPLETED .*no body/],
  [
    'another outcome',
    insteadOf('job-1.1', job(1, 1, { status: 'FAILED', reason: 'error', willRetry: false })),
    /I16: .* but its body returned/,
  ],
  ['a failure not ordered', insteadOf('job-2.1', job(2, 1, null)), /I16: .*2, completes\) ended CANCELLED, but should/],
  [
    'a member not stopped',
    insteadOf('job-5.1', job(5, 1, {}, { groupId: 'group' })),
    /I16: .*should have ended CANCELLED/,
  ],
  [
    'too few attempts',
    insteadOf('job-3.2', job(3, 2, { status: 'FAILED', reason: 'error', willRetry: false })),
    /I4: .* was given up after 2 errors/,
  ],
  [
    'a slot that failed',
    insteadOf('slot-5000', slot(5_000, { status: 'CANCELLED', run: null })),
    /I16: slot-5000 of a sch/,
  ],
  // Order and times
  [
    'a Job that was passed over',
    storing({
      commits: [
        { number: 1, queued: ['job-6.1', 'job-3.1'], started: [], ended: [] },
        { number: 2, queued: [], started: ['job-6.1'], ended: [] },
      ],
    }),
    /I8: Job job-6.1 \(6\) was started before job-3.1 \(3\)/,
  ],
  ['an early start', later('run-1.1', -300), /I8: 1 began 100 ms too early/],
  ['an early retry', later('run-3.2', -200), /I8: attempt 2 of 3 began 50 ms too early/],
  // Schedules
  ['a slot without a Job', without('slot-6000'), /I9: the slot 6000 of schedule schedule made no Job/],
  [
    'a slot made twice',
    withJobs((all) => [...all, slot(6_000, { jobId: 'b', chainId: 'b' })]),
    /I9: the slot 6000 .* 2 Jobs/,
  ],
  ['a Job of no slot', withJobs((all) => [...all, slot(6_500)]), /I9: .* is of 6500, which is no slot/],
  ['an early slot', insteadOf('slot-6000', slot(6_000, { createdAt: 5_500 })), /I9: .* came 500 ms before its slot/],
  ['a slot after the end', withJobs((all) => [...all, slot(9_000)]), /I9: the slot 9000 .* after it was switched off/],
  [
    'a slot that was skipped',
    storing({ schedules: [{ scheduleId: 'schedule', anchorAt: 0, skipped: skipped(6_000) }] }),
    /I9: schedule schedule skipped slots/,
  ],
  ['a lost schedule', storing({ schedules: [] }), /I1: schedule schedule was acknowledged and does not exist/],
  // Keys and limits
  ['two holders of a key at work', later('run-9.1', -25), /I10: 9 and 8 executed at once/],
  [
    'two holders of a key',
    recording({ acks: recorded.acks.map((ack) => (ack.n === 9 ? { ...ack, askedAt: 10, answeredAt: 20 } : ack)) }),
    /I10: 9 was accepted with the key holder while 8 held it/,
  ],
  ['two holders of a limit', later('run-1.1', 15), /I11: 2 bodies at once held the limit press of 1/],
  ['a direct execution beside its limit', later('ticket-13', -215), /I11: 2 bodies at once held the limit press of 1/],
  ['too many bodies', { ...SOUND, concurrency: 0 }, /I11: 1 bodies at once held the places of a of 0/],
  // Direct executions
  [
    'a ticket nobody asked for',
    storing({ reservations: [...history.reservations, ticket(15, 1)] }),
    /I2: .*15.* never asked/,
  ],
  [
    'two tickets',
    storing({ reservations: [...history.reservations, ticket(13, 1)] }),
    /I4: direct execution 13 made 2/,
  ],
  [
    'a direct body without a ticket',
    storing({ reservations: [ticket(14, 859)] }),
    /I2: .* 13 began for .* no reservation/,
  ],
  [
    'a direct crash of nobody',
    withTicket({ outcome: 'FAILED', reason: 'crash' }),
    /I16: reservation .* was never killed/,
  ],
  [
    'a direct outcome of its own',
    withTicket({ outcome: 'FAILED', reason: 'error' }),
    /I16: reservation .* its body returned/,
  ],
  [
    'a body of a ticket that expired',
    withTicket({ status: 'EXPIRED', outcome: null }),
    /I16: reservation .* a body began/,
  ],
  ['a caller who heard of no end', directly('skipped'), /I16: the caller of direct execution 13 .* its body returned/],
  [
    'a caller who got something else',
    directly('returned', 99),
    /I16: the caller of .* 99, which is not what it returned/,
  ],
  [
    'a caller who heard of an error',
    directly('failed: error'),
    /I16: the caller .* `failed: error`, but its body returned/,
  ],
  [
    'a caller who heard of a crash',
    directly('failed: crash'),
    /I16: the caller .* `failed: crash`, but its reservation/,
  ],
  ['a caller who was sent away', directly('direct_wait_timeout'), /I16: the caller .* but its body began/],
  ['a caller who heard nonsense', directly('internal_error'), /I16: the caller .* `internal_error`/],
  [
    'a ticket that was passed over',
    storing({ reservations: [ticket(13, 900), ticket(14, 859)] }),
    /I11: ticket ticket-14 of press was served before ticket-13/,
  ],
  // Composition
  ['an early child', later('run-2.1', -25), /I12: 2 began on a at 595, before its parent 1 ended at 610/],
  ['a wrong count', without('job-5.1'), /I13: group group says/],
  [
    'a wrong status',
    storing({ groups: history.groups.map((one) => ({ ...one, status: 'COMPLETED' })) }),
    /I13: group group is/,
  ],
  [
    'a group that goes on',
    storing({ groups: history.groups.map((group) => ({ ...group, isSettled: false })) }),
    /I15: group group has not settled/,
  ],
  // Webhooks
  [
    'an event nobody heard of',
    recording({ received: recorded.received.slice(0, 2) }),
    /I14: nobody was told of job.settled/,
  ],
  [
    'a message that was not stored',
    storing({ deliveries: history.deliveries.slice(0, 1) }),
    /I14: delivery .* does not exist/,
  ],
  [
    'another text at the second attempt',
    recording({ received: recorded.received.map((one) => (one.answer === '500' ? { ...one, digest: 'other' } : one)) }),
    /I14: delivery .* was sent with 2 different texts/,
  ],
  [
    'a message that was never taken',
    recording({ received: recorded.received.map((one) => ({ ...one, answer: '500' })) }),
    /I14: .* is DELIVERED, but was not/,
  ],
  [
    'news of nothing',
    recording({ received: [...recorded.received, received('job.cancelled')] }),
    /I14: somebody was told of job.cancelled/,
  ],
  // Deeds
  [
    'a body after its cancel',
    withNotes((all) => [...all, ...notes(11, 1, 900, 910)]),
    /I4: 11 was cancelled .* began on a aft/,
  ],
  [
    'a cancelled Job that completed',
    insteadOf('job-11.1', job(11, 1, {})),
    /I4: 11 was cancelled, but ended COMPLETED/,
  ],
  [
    'a retry after a cancel',
    recording({ cancels: recorded.cancels.map((one) => ({ ...one, kind: 'requested', jobId: 'job-11.0' })) }),
    /I4: 11 was cancelled while job-11.0 executed, but job-11.1 followed/,
  ],
  ['a retry by hand that is lost', without('job-12.2'), /I1: a retry of 12 was acknowledged .* does not exist/],
])('it finds %s', (_, evidence, sentence) => {
  expect(findContradictions(evidence)).toContainEqual(expect.stringMatching(sentence))
})

function refusal() {
  return { is: 'refused', by: 'client', askedAt: 0, answeredAt: 1, code: 'business_key_taken' } as const
}
