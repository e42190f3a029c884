// Deliveries of one status, of a webhook or of all: what failed is rare among what was delivered, and the other way round where a
// receiver is down.
export const deliveriesByStatus = {
  version: 6,
  name: 'deliveries-by-status',
  sql: `
create index pawl_deliveries_status on pawl_deliveries (status, delivery_seq);
create index pawl_deliveries_webhook_status on pawl_deliveries (webhook_seq, status, delivery_seq);
drop index pawl_deliveries_failed;
`,
} as const
