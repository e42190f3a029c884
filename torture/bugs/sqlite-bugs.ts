import type { Bug } from './bug.ts'
import { later, WRITES_LATER } from './second-transaction.ts'

const SIM = { campaign: 'sim', amount: 5_000 } as const
const KILL = { campaign: 'kill', amount: 400 } as const

/** Mistakes in what is written, and when. */
export const SQLITE_BUGS: readonly Bug[] = [
  {
    name: 'fence-removed',
    mistake: 'The end of a Run does not look whether somebody else has ended it.',
    edits: [
      {
        file: 'stores/sqlite/statements/finish.ts',
        find: 'where seq = ? and run_id = ? and status is null`',
        replace: 'where seq = ? and run_id = ?`',
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'range-not-compared',
    mistake: 'Runs that lie together are ended together, without a look whether all of them are still open.',
    edits: [
      {
        file: 'stores/sqlite/statements/complete-many.ts',
        find: "  if (open !== claims.map(({ runId }) => runId).join(' ')) return false",
        replace: '  if (open === undefined) return false',
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'retry-in-second-transaction',
    mistake: 'The retry is written behind the commit of the failure.',
    edits: [
      WRITES_LATER,
      {
        file: 'stores/sqlite/statements/finish.ts',
        find: "    insertRetry(transaction, seq, retry, { awaitsPredecessor: run.body === 'executing', now: finishedAt })",
        replace: later(
          "insertRetry(second, seq, retry, { awaitsPredecessor: run.body === 'executing', now: finishedAt })",
        ),
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'delivery-in-second-transaction',
    mistake: 'The message to webhooks is written behind the commit of the end.',
    edits: [
      WRITES_LATER,
      {
        file: 'stores/sqlite/statements/ended.ts',
        find: '  tell(transaction, job, RUN_EVENTS[status], willRetry, at)',
        replace: later('tell(second, job, RUN_EVENTS[status], willRetry, at)'),
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'dependents-in-second-transaction',
    mistake: 'Dependents are released behind the commit of their parent.',
    edits: [
      WRITES_LATER,
      {
        file: 'stores/sqlite/statements/finish.ts',
        find: '    carryOut(transaction, { nodeSeq, newId }, first.finishedAt)',
        replace: later(
          'const { settled, cascades } = transaction; carryOut(Object.assign(second, { settled, cascades }), { nodeSeq, newId }, first.finishedAt)',
        ),
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'slot-advanced-outside',
    mistake: 'A schedule moves on to its next slot before the Job of the last one is written.',
    edits: [
      WRITES_LATER,
      {
        file: 'stores/sqlite/statements/fire-slots.ts',
        find: '  const { jobIds, skipped } = makeJobs(transaction, firing, due, now)',
        replace: `${later('makeJobs(second, firing, due, now)')}
  const { jobIds, skipped }: { jobIds: string[]; skipped: SkippedSlots[] } = { jobIds: [], skipped: [] }`,
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'acknowledged-before-commit',
    mistake: 'Callers are answered when their statements are done, before the commit.',
    edits: [
      {
        file: 'stores/sqlite/group-committer.ts',
        find: `      passFaultPoint('store:before-commit')
      this.#connection.control(COMMIT)
    } catch`,
        replace: `      for (let index = 0; index < group.length; index++) group[index]?.resolve(values[index])
      passFaultPoint('store:before-commit')
      this.#connection.control(COMMIT)
    } catch`,
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'follow-ups-of-failures',
    mistake: 'Follow-ups are made whatever came of the body that asked for them.',
    edits: [
      {
        file: 'stores/sqlite/statements/finish.ts',
        find: "if (run.outcome.status === 'COMPLETED' && run.followUps.length > 0) asking.push(index)",
        replace: 'if (run.followUps.length > 0) asking.push(index)',
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'order-forgets-position',
    mistake: 'The queue is read in the order of acceptance, without the places that Jobs were moved to.',
    edits: [
      {
        file: 'stores/sqlite/statements/claim.ts',
        find: 'order by q.priority desc, q.position, q.created_at, q.seq\nlimit ? offset ?`',
        replace: 'order by q.priority desc, q.created_at, q.seq\nlimit ? offset ?`',
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'permits-of-one-node',
    mistake: 'Permits are counted by each node for itself.',
    edits: [
      {
        file: 'stores/sqlite/statements/permits.ts',
        find: `from pawl_occupancies
group by lane_id
union all`,
        replace: `from pawl_occupancies
where node_seq = (select max(node_seq) from pawl_nodes where ended_at is null)
group by lane_id
union all`,
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'permit-freed-at-timeout',
    mistake: 'A timeout gives the permits back while the body still executes.',
    edits: [
      {
        file: 'stores/sqlite/statements/finish.ts',
        find: "  if (run.body === 'ended') bodiesEnded.push(seq)",
        replace: '  bodiesEnded.push(seq)',
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'dead-may-claim',
    mistake: 'A node that was declared dead goes on claiming.',
    edits: [
      {
        file: 'stores/sqlite/statements/nodes.ts',
        find: "'select node_seq from pawl_nodes where node_id = ? and ended_at is null'",
        replace: "'select node_seq from pawl_nodes where node_id = ?'",
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'cancel-overtaken-by-retry',
    mistake: 'A failure is retried although its cancel was asked for meanwhile.',
    edits: [
      {
        file: 'stores/sqlite/statements/finish.ts',
        find: '  const retry = run.retry !== null && isCancelRequested(transaction, seq, job.groupId) ? null : run.retry',
        replace: '  isCancelRequested(transaction, seq, job.groupId)\n  const retry = run.retry',
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'skipped-counts-as-completed',
    mistake: 'A group counts a skipped member as completed.',
    edits: [
      {
        file: 'stores/sqlite/statements/members.ts',
        find: "set completed = completed + (? = 'COMPLETED'),",
        replace: "set completed = completed + (? in ('COMPLETED', 'SKIPPED')),",
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'any-parent-releases',
    mistake: 'A Job that waits for several others starts when the first of them has ended.',
    edits: [
      {
        file: 'stores/sqlite/statements/dependencies.ts',
        find: 'ready = (unmet_parents = ? and awaits_predecessor = 0 and run_at <= ?)',
        replace: 'ready = (unmet_parents >= ? and awaits_predecessor = 0 and run_at <= ?)',
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'key-freed-by-failure',
    mistake: 'A business key is free again as soon as an attempt has failed, though a retry follows.',
    edits: [
      {
        file: 'stores/sqlite/statements/finish.ts',
        find: '  if (retry !== null) {\n    insertRetry',
        replace: `  if (retry !== null) {
    if (job.businessKey !== null) releaseBusinessKey(transaction, job.businessKey, job.chainId)
    insertRetry`,
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'due-too-early',
    mistake: 'Delayed Jobs become ready a second before their time.',
    edits: [
      {
        file: 'stores/sqlite/statements/claim.ts',
        find: 'where ready = 0 and awaits_predecessor = 0 and unmet_parents = 0 and run_at <= ?\n  order by run_at',
        replace:
          'where ready = 0 and awaits_predecessor = 0 and unmet_parents = 0 and run_at <= ? + 1000\n  order by run_at',
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'edit-not-fenced',
    mistake: 'The params of a Job can be changed while it executes.',
    edits: [
      {
        file: 'stores/sqlite/statements/edit.ts',
        find: "  if (job.queued === null) return { kind: 'not-queued', status: statusOf(job) }\n",
        replace:
          "  if (job.queued === null && statusOf(job) !== 'RUNNING') return { kind: 'not-queued', status: statusOf(job) }\n",
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'prune-looks-at-first-attempt',
    mistake: 'History is removed by the end of the first attempt, also while a retry is queued.',
    edits: [
      {
        file: 'stores/sqlite/statements/prune.ts',
        find: '  const last = findLastOfChain(connection, first)\n  const endedAt',
        replace: '  findLastOfChain(connection, first)\n  const last = first\n  const endedAt',
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'synchronous-normal',
    mistake: 'SQLite is told `synchronous=NORMAL`, so that a commit does not wait for the disk.',
    edits: [
      {
        file: 'stores/sqlite/open-database.ts',
        find: "durability === 'power' ? 'full' : 'normal'",
        replace: "durability === 'power' ? 'normal' : 'normal'",
      },
    ],
    caughtBy: { campaign: 'power', amount: 2_000 },
  },
  {
    name: 'full-disk-not-told',
    mistake: 'A commit that fails is undone, but its callers are answered as if it had not.',
    edits: [
      {
        file: 'stores/sqlite/group-committer.ts',
        find: '      if (group.length === 1) group[0]?.reject(translateError(error, this.#path))\n      else this.#separate(group)',
        replace: '      for (let index = 0; index < group.length; index++) group[index]?.resolve(values[index])',
      },
    ],
    caughtBy: { campaign: 'disk', amount: 200 },
  },
  {
    name: 'key-in-second-transaction',
    mistake: 'The idempotency key is written behind the commit of its Job.',
    edits: [
      WRITES_LATER,
      {
        file: 'stores/sqlite/statements/enqueue.ts',
        find: '    connection.run(INSERT_IDEMPOTENCY_KEY, key, job.jobId, fingerprint, now)',
        replace: later('second.connection.run(INSERT_IDEMPOTENCY_KEY, key, job.jobId, fingerprint, now)'),
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'claim-in-two-transactions',
    mistake: 'A claimed Job leaves the queue in one transaction, and who executes it is written in the next.',
    edits: [
      WRITES_LATER,
      {
        file: 'stores/sqlite/statements/claim.ts',
        find: '    connection.insertLater(INSERT_OCCUPANCY, seq, nodeSeq, lane.laneId, priority, position)\n',
        replace: `${later('second.connection.run(INSERT_OCCUPANCY, seq, nodeSeq, lane.laneId, priority, position)')}\n`,
      },
    ],
    caughtBy: KILL,
  },
]
