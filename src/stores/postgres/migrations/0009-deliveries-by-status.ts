// Deliveries of one status, of a webhook or of all: what failed is rare among what was delivered, and the other way round where a
// receiver is down.
export const deliveriesByStatus = {
  version: 9,
  name: 'deliveries-by-status',
  sql: `
create index deliveries_status on pawl.deliveries (status, delivery_seq);
create index deliveries_webhook_status on pawl.deliveries (webhook_seq, status, delivery_seq);
drop index pawl.deliveries_failed;
`,
} as const
