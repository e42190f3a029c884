import type { Bug } from './bug.ts'

/** Mistakes where several machines meet, and at the doors. */
export const SERVER_BUGS: readonly Bug[] = [
  {
    name: 'heartbeat-on-main-loop',
    mistake: 'A node proves its life on its event loop, so that a body which computes makes it look dead.',
    edits: [
      {
        file: 'stores/postgres/heartbeat-liveness.ts',
        find: '    this.#stop = this.#startThread() ?? this.#startHere()',
        replace: '    this.#stop = (this.#wasLost ? this.#startThread() : null) ?? this.#startHere()',
      },
    ],
    caughtBy: { campaign: 'pg', amount: 8 },
  },
  {
    name: 'permit-without-lock',
    mistake:
      'Claims on PostgreSQL choose permits without locking them, so that two of the same moment take the same one.',
    edits: [
      {
        file: 'stores/postgres/statements/permits.ts',
        find: '  limit wanted.permits\n  for update skip locked\n',
        replace: '  limit wanted.permits\n',
      },
    ],
    caughtBy: { campaign: 'kill', amount: 200, store: 'postgres' },
  },
  {
    name: 'chain-without-lock',
    mistake:
      'On PostgreSQL a chain is not locked while it ends, so that a child which is accepted meanwhile waits for ever.',
    edits: [
      {
        file: 'stores/postgres/statements/locks.ts',
        find: 'order by seq\nfor no key update`',
        replace: 'order by seq`',
      },
    ],
    caughtBy: { campaign: 'pg', amount: 8 },
  },
  {
    name: 'unique-index-dropped',
    mistake: 'On PostgreSQL nothing but a look keeps an idempotency key from being written twice.',
    edits: [
      {
        file: 'stores/postgres/migrations/0001-schema.ts',
        find: '  idempotency_key text collate "C" primary key,',
        replace: '  idempotency_key text collate "C",',
      },
    ],
    caughtBy: { campaign: 'kill', amount: 200, store: 'postgres' },
  },
  {
    name: 'fence-removed-on-the-short-way',
    mistake: 'On PostgreSQL, where many Runs end in one statement, nobody looks whether somebody else has ended them.',
    edits: [
      {
        file: 'stores/postgres/statements/plain-finish.ts',
        find: 'where r.ctid = l.at and r.run_id = l.run_id and r.status is null',
        replace: 'where r.ctid = l.at and r.run_id = l.run_id',
      },
    ],
    caughtBy: { campaign: 'pg', amount: 8 },
  },
]
