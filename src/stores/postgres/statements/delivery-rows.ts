/** Each delivery leads to the rest, one by one: a page of few must not make the planner read all Jobs. */
export const DELIVERY_COLUMNS = `
  d.delivery_seq, d.delivery_id,
  (select w.webhook_id from pawl.webhooks w where w.webhook_seq = d.webhook_seq) as webhook_id,
  (select j.job_id from pawl.jobs j where j.seq = d.job_seq) as job_id,
  (select r.run_id from pawl.runs r where r.seq = d.job_seq) as run_id,
  d.job_seq, d.event, d.will_retry, d.status, d.attempts, d.last_attempt_at, d.last_status_code, d.last_error, d.latency_ms,
  d.response_excerpt, d.next_attempt_at, d.created_at`
