/**
 * What is measured beside each other. `enqueueing` and `draining` are the settings that are tried before; the best one of
 * each is used. `waiting` is how it waits for the next job when it has none. `keeps` is what can be read of a job that is
 * done. Versions are pinned, so that a table says what it compared.
 */
const BULLMQ = {
  name: 'BullMQ',
  script: 'bullmq',
  packages: ['bullmq@6.7.0', 'ioredis@6.0.0'],
  keeps: 'finished jobs, no runs',
  enqueueing: [{ autoPipelining: false }, { autoPipelining: true }],
  draining: [
    { workers: 1, concurrency: 50 },
    { workers: 1, concurrency: 100 },
    { workers: 1, concurrency: 200 },
    { workers: 2, concurrency: 50 },
    { workers: 2, concurrency: 100 },
  ],
  waiting: { workers: 1, concurrency: 1 },
}

// 12.38.0 asks for a version of rrule-temporal that npm does not have.
export const PG_BOSS = {
  name: 'pg-boss',
  script: 'pg-boss',
  packages: ['pg-boss@12.35.0'],
  durability: 'fsync=on, synchronous_commit=on',
  keeps: 'finished jobs, no runs',
  enqueueing: [{ connections: 10 }, { connections: 4 }, { connections: 30 }],
  draining: [100, 500, 1_000].flatMap((batchSize) =>
    [1, 4].map((localConcurrency) => ({ connections: 10, batchSize, localConcurrency })),
  ),
  // Only a queue that notifies starts at once: the others are asked every half second.
  waiting: { connections: 10, batchSize: 1, localConcurrency: 1, queue: 'notified' },
}

const GRAPHILE = {
  name: 'graphile-worker',
  script: 'graphile-worker',
  packages: ['graphile-worker@0.18.0'],
  durability: 'fsync=on, synchronous_commit=on',
  keeps: 'nothing',
  enqueueing: [{ connections: 10 }, { connections: 4 }, { connections: 30 }],
}

const PLAINJOB = {
  name: 'plainjob',
  script: 'plainjob',
  packages: ['plainjob@0.0.14'],
  keeps: 'finished jobs, no runs',
  enqueueing: [{}],
  draining: [{ workers: 1 }, { workers: 4 }],
  waiting: { workers: 1 },
}

const PAWL = {
  name: 'Pawl',
  packages: [],
  keeps: 'jobs, runs, events',
  enqueueing: [{}],
  waiting: { concurrency: 100 },
}

/** Pawl's two stores, each beside the peers that stand nearest to it. Ours comes first. */
export const FAMILIES = {
  sqlite: [
    {
      ...PAWL,
      id: 'pawl-sqlite',
      script: 'pawl-sqlite',
      form: 'SQLite',
      durability: 'WAL, synchronous=FULL',
      draining: [{ concurrency: 100 }],
    },
    {
      ...BULLMQ,
      id: 'bullmq-everysec',
      form: 'Redis everysec',
      redis: 'everysec',
      durability: 'appendfsync everysec: a loss of power may take the last second',
    },
    { ...BULLMQ, id: 'bullmq-always', form: 'Redis always', redis: 'always', durability: 'appendfsync always' },
    {
      ...PLAINJOB,
      id: 'plainjob-normal',
      form: 'SQLite NORMAL',
      synchronous: 'normal',
      durability: 'WAL, synchronous=NORMAL: a loss of power may take the last commits',
    },
    {
      ...PLAINJOB,
      id: 'plainjob-full',
      form: 'SQLite FULL',
      synchronous: 'full',
      durability: 'WAL, synchronous=FULL',
    },
  ],
  postgres: [
    {
      ...PAWL,
      id: 'pawl-postgres',
      script: 'pawl-postgres',
      form: 'PostgreSQL',
      durability: 'fsync=on, synchronous_commit=on',
      draining: [{ concurrency: 100 }, { concurrency: 500 }, { concurrency: 1_000 }],
    },
    { ...PG_BOSS, id: 'pg-boss', form: '' },
    {
      ...GRAPHILE,
      id: 'graphile',
      form: 'default',
      draining: [{ concurrency: 24 }, { concurrency: 100 }],
      waiting: { concurrency: 24 },
    },
    {
      ...GRAPHILE,
      id: 'graphile-batched',
      form: 'local queue',
      draining: [24, 100].flatMap((concurrency) =>
        [500, 1_000].flatMap((localQueue) => [0, 10].map((delayMs) => ({ concurrency, localQueue, delayMs }))),
      ),
      waiting: { concurrency: 24, localQueue: 500, delayMs: 0 },
    },
  ],
}

export function titleOf({ name, form }) {
  return form === '' ? name : `${name}, ${form}`
}

/** `concurrency 100, workers 2`: settings as a reader would say them. */
export function describeSettings(settings) {
  return Object.entries(settings)
    .map(([name, value]) => `${name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)} ${value}`)
    .join(', ')
}

/** One row about a system: what it is, how it was set, and what it promises. Left out: why. */
export function describeSystem(system, fleet) {
  const title = titleOf(system)
  const why = fleet.whyLeftOut(system)
  if (why !== null)
    return {
      title,
      version: '–',
      durability: system.durability,
      keeps: system.keeps,
      settings: '–',
      text: `LEFT OUT, ${why}`,
    }
  const { enqueueing, draining } = fleet.chosen[system.id]
  const { version } = fleet.about[system.id]
  const settings = [describeSettings(enqueueing), describeSettings(draining)].filter((text) => text !== '').join('; ')
  const { durability, keeps } = system
  return { title, version, durability, keeps, settings, text: `${version}, ${durability}, keeps ${keeps}, ${settings}` }
}
