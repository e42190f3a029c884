import { checkOf } from './probe.ts'

const SELECT_HALF_SENT = `
select delivery_id as id
from pawl.deliveries
where (status = 'PENDING') <> (next_attempt_at is not null)
  or (sender_seq is null) <> (leased_until is null)
  or (sender_seq is not null and status <> 'PENDING')
  or (status = 'DELIVERED' and last_attempt_at is null)`

const SELECT_TO_NOBODY = `
select d.delivery_id as id
from pawl.deliveries d
left join pawl.webhooks w on w.webhook_seq = d.webhook_seq
left join pawl.jobs j on j.seq = d.job_seq
where d.status = 'PENDING'
  and case
    when d.webhook_seq is null then j.webhook_url is null
    else w.webhook_seq is null or w.deleted_at is not null
  end`

// Who had subscribed when a Run ended is not known afterwards; but a Job keeps its own URL for ever.
const SELECT_UNTOLD = `
select j.job_id as id
from pawl.jobs j
left join pawl.runs r on r.seq = j.seq
where j.webhook_url is not null
  and (
    (r.status is not null and not exists (
      select 1
      from pawl.deliveries d
      where d.job_seq = j.seq and d.webhook_seq is null and d.event = 'job.run.' || lower(r.status)
    ))
    or (j.cancelled_at is not null and not exists (
      select 1
      from pawl.deliveries d
      where d.job_seq = j.seq and d.webhook_seq is null and d.event = 'job.cancelled'
    ))
  )`

const REPORT = 'Restore a backup if rows were changed by hand; else report this as a bug of Pawl.'

export const deliveries = checkOf(
  'I14',
  'Each event that is to be told has a delivery, and each pending delivery a receiver.',
  [
    {
      sql: SELECT_HALF_SENT,
      message:
        'Deliveries contradict themselves: what is pending has no next attempt, or what has ended is being sent.',
      advice: `Replay these deliveries, which makes them whole again. ${REPORT}`,
    },
    {
      sql: SELECT_TO_NOBODY,
      message: 'Deliveries are pending to a webhook that is not there, or to the URL of a Job that has none.',
      advice: REPORT,
    },
    {
      sql: SELECT_UNTOLD,
      message: 'Jobs with a webhook URL of their own have ended, but no delivery was written.',
      advice: REPORT,
    },
  ],
)
