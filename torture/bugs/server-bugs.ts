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
    caughtBy: { campaign: 'pg', amount: 3 },
  },
  {
    name: 'claim-without-lock',
    mistake: 'A claim on PostgreSQL reads the queue without locking what it takes.',
    edits: [
      {
        file: 'stores/postgres/statements/claim-open.ts',
        find: '    limit share.jobs\n    for update skip locked\n',
        replace: '    limit share.jobs\n',
      },
    ],
    caughtBy: { campaign: 'kill', amount: 100, store: 'postgres' },
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
    name: 'lost-commit-repeated',
    mistake: 'A transaction of whose commit the answer got lost is done once more.',
    edits: [
      {
        file: 'stores/postgres/postgres-base.ts',
        find: 'if (tries === TRIES_MAX || !(isConflict(error) || isDuplicate(error))) throw this.#translated(error)',
        replace:
          'if (tries === TRIES_MAX || !(isConflict(error) || isDuplicate(error) || tries === 1)) throw this.#translated(error)',
      },
    ],
    caughtBy: { campaign: 'pg', amount: 5 },
  },
]
