// While PostgreSQL believes that the queue is empty, any index that may answer a question looks as good as the right one. What
// is due was then looked for among all that waits: `where not ready` follows from every question about delayed Jobs. Said in
// other words, it follows from none, and this index serves only who asks for it.
export const waitingInLanes = {
  version: 4,
  name: 'waiting-in-lanes',
  sql: `
drop index pawl.queue_waiting;
create index queue_waiting on pawl.queue (lane_id, priority desc, position, created_at, seq) where ready::integer = 0;
`,
} as const
