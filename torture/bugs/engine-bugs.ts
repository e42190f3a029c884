import type { Bug } from './bug.ts'

const SIM = { campaign: 'sim', amount: 5_000 } as const

/** Mistakes in what nodes do. */
export const ENGINE_BUGS: readonly Bug[] = [
  {
    name: 'recovery-touches-the-living',
    mistake: 'A node ends the Jobs of all others when it starts, without asking whether they live.',
    edits: [
      {
        file: 'engine/recovery.ts',
        find: '      if (await store.liveness.isAlive(node.nodeId)) {\n        this.#seenDeadAt',
        replace: '      if (this.#failing.size < 0) {\n        this.#seenDeadAt',
      },
      {
        file: 'engine/recovery.ts',
        find: '      if (await store.liveness.isAlive(node.nodeId)) return\n',
        replace: '',
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'crash-not-charged',
    mistake: 'A retry after a crash is charged to no budget, so that a Job which kills its process does so for ever.',
    edits: [
      {
        file: 'domain/retry.ts',
        find: 'counts: { ...counts, crashRetries: counts.crashRetries + 1 } }',
        replace: 'counts: { ...counts } }',
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'tickets-never-expire',
    mistake: 'The ticket of a caller that has died waits for ever.',
    edits: [
      {
        file: 'engine/recovery.ts',
        find: 'tally.reservationsExpired += await store.expireTicketsOf(node.nodeId, clock.now())',
        replace: 'tally.reservationsExpired += 0',
      },
      {
        file: 'engine/recovery.ts',
        find: '    const expired = await store.expireTickets(now - TICKET_EXPIRES_MS, now)',
        replace: '    const expired = await store.expireTickets(now - TICKET_EXPIRES_MS * 1e6, now)',
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'strays-forgotten',
    mistake: 'A Job that was claimed, but of whose claim the answer was lost, stays RUNNING as long as its node lives.',
    edits: [
      {
        file: 'engine/own-bodies.ts',
        find: '    await recovery.endStrays((id) => suspects.has(id) && !isKnown(id), limit)',
        replace: '',
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'outcome-given-up',
    mistake: 'An outcome that the store does not take at the first try is dropped.',
    edits: [
      {
        file: 'engine/insist.ts',
        find: '      if (!helps(error)) throw error',
        replace: '      if (helps(error)) throw error',
      },
    ],
    caughtBy: SIM,
  },
  {
    name: 'message-id-per-attempt',
    mistake: 'Each attempt to deliver a message has an id of its own.',
    edits: [
      {
        file: 'engine/webhook-sender.ts',
        find: 'signatureHeaders(leased.secrets, deliveryId, clock.now(), body)',
        replace: 'signatureHeaders(leased.secrets, `${deliveryId}-${leased.delivery.attempts}`, clock.now(), body)',
      },
    ],
    caughtBy: SIM,
  },
]
