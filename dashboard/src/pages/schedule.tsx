import { useState } from 'preact/hooks'
import { ask } from '../api/http.ts'
import { listJobs } from '../api/list-jobs.ts'
import { mayAdminister, mayOperate } from '../api/session.ts'
import { useLive } from '../live/use-live.ts'
import { FormDialog } from '../parts/dialog.tsx'
import { CannotLoad, Loading, NothingYet } from '../parts/empty.tsx'
import { Icon } from '../parts/icon.tsx'
import { Json } from '../parts/json.tsx'
import { Card, PageHead, Stale } from '../parts/listing.tsx'
import { Badge, Tags } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { FullTime, fullTime } from '../parts/time.tsx'
import { go, href, hrefWith } from '../route.ts'
import { timingWords } from './cron-words.ts'
import { JOB_COLUMNS, jobName } from './job-columns.tsx'
import { ScheduleDialog, Slots } from './schedule-form.tsx'
import { lookOfSchedule, OUTCOMES_SHOWN, OutcomeStrip, trigger, turn } from './schedules.tsx'

const MISSED = { one: 'makes one job, for the latest', all: 'makes a job for each', none: 'makes none' } as const
const OVERLAP = {
  allow: 'the next is made all the same',
  skip: 'the slot is skipped',
  'queue-one': 'one may wait',
} as const
const SHOWN_COLUMNS = ['job', 'state', 'attempt', 'created', 'took']

async function load(id: string, signal: AbortSignal) {
  const params = { schedule_id: id }
  const [schedule, preview, skipped, jobs] = await Promise.all([
    ask('GET /api/schedules/{schedule_id}', { params, signal }),
    ask('GET /api/schedules/{schedule_id}/preview', { params, query: { count: '5' } as never, signal }),
    ask('GET /api/schedules/{schedule_id}/skipped', { params, query: { limit: '10' } as never, signal }),
    listJobs({ schedule_id: id, limit: OUTCOMES_SHOWN }, signal),
  ])
  return { schedule, preview, skipped: skipped.items, jobs: jobs.items }
}

export function SchedulePage({ id }: { id: string }) {
  const [open, setOpen] = useState<'edit' | 'remove' | null>(null)
  const live = useLive(id, (signal) => load(id, signal), { everyMs: 5_000 })
  const { data, problem } = live
  if (data === null) return problem ? <CannotLoad problem={problem} onRetry={live.reload} /> : <Loading />
  const { schedule, preview, skipped, jobs } = data
  return (
    <>
      {problem && <Stale />}
      <PageHead
        title={
          <span class="row">
            {schedule.name} <Badge look={lookOfSchedule(schedule)} />
          </span>
        }
        sub={`${timingWords(schedule)} · ${schedule.timezone}`}
      >
        {mayOperate.value && (
          <>
            <button type="button" class="button" onClick={() => trigger(schedule, live.reload)}>
              <Icon name="play" /> Trigger now
            </button>
            <button type="button" class="button" onClick={() => turn(schedule, !schedule.enabled, live.reload)}>
              {schedule.enabled ? 'Disable' : 'Enable'}
            </button>
          </>
        )}
        {mayAdminister.value && (
          <>
            <button type="button" class="button" onClick={() => setOpen('edit')}>
              <Icon name="edit" /> Edit
            </button>
            <button type="button" class="button danger" onClick={() => setOpen('remove')}>
              Remove
            </button>
          </>
        )}
      </PageHead>
      {schedule.disabled_reason !== null && (
        <div class="banner bad">
          <Icon name="warn" />
          <div>It was disabled: {schedule.disabled_reason}</div>
        </div>
      )}
      <div class="split">
        <div class="stack wide">
          <Card title={schedule.enabled ? 'Next five slots' : 'Next five slots, if it were enabled'}>
            <div class="card-body">
              {preview.items.length === 0 ? (
                <span class="faint">None: it never comes.</span>
              ) : (
                <Slots items={preview.items} zone={schedule.timezone} />
              )}
            </div>
          </Card>
          <Card
            title={`Last ${OUTCOMES_SHOWN} jobs`}
            note={<a href={hrefWith(['jobs'], { schedule_id: id })}>All its jobs</a>}
          >
            {jobs.length === 0 ? (
              <NothingYet title="It has made no job yet" />
            ) : (
              <>
                <div class="card-body">
                  <OutcomeStrip jobs={jobs} />
                </div>
                <Table
                  label="Jobs of this schedule"
                  rows={jobs}
                  keyOf={(job) => job.job_id}
                  nameOf={jobName}
                  hrefOf={(job) => href('jobs', job.job_id)}
                  columns={JOB_COLUMNS.filter(({ key }) => SHOWN_COLUMNS.includes(key))}
                />
              </>
            )}
          </Card>
        </div>
        <div class="stack wide">
          <Card title="Facts">
            <dl class="facts card-body">
              <dt>Expression</dt>
              <dd class="mono">{schedule.cron ?? `every ${schedule.every_ms} ms`}</dd>
              <dt>Zone</dt>
              <dd>{schedule.timezone}</dd>
              <dt>Makes</dt>
              <dd>{schedule.type ?? <a href={href('templates')}>a template's jobs</a>}</dd>
              <dt>Missed slots</dt>
              <dd>{MISSED[schedule.missed]}</dd>
              <dt>Overlap</dt>
              <dd>{OVERLAP[schedule.overlap]}</dd>
              <dt>Priority</dt>
              <dd>{schedule.priority}</dd>
              {schedule.tags.length > 0 && (
                <>
                  <dt>Tags</dt>
                  <dd>
                    <Tags tags={schedule.tags} />
                  </dd>
                </>
              )}
              <dt>Next</dt>
              <dd>
                <FullTime at={schedule.enabled ? schedule.next_trigger_at : null} />
              </dd>
              <dt>Last</dt>
              <dd>
                <FullTime at={schedule.last_triggered_at} />
              </dd>
            </dl>
          </Card>
          <Card title="Params">
            <div class="card-body">
              <Json value={schedule.param_overrides} what="params" redacted={'redacted' in schedule} />
            </div>
          </Card>
          <Card title="Slots that made no job">
            {skipped.length === 0 ? (
              <div class="card-body faint">None.</div>
            ) : (
              <ul class="card-body stack tight">
                {skipped.map((slot) => (
                  <li class="row spread" key={`${slot.at} ${slot.last_slot_at}`}>
                    <span>
                      {slot.count === null ? 'many' : slot.count} · {slot.reason}
                    </span>
                    <span class="faint small">{fullTime(slot.last_slot_at)}</span>
                  </li>
                ))}
              </ul>
            )}
          </Card>
        </div>
      </div>
      {open === 'edit' && <ScheduleDialog schedule={schedule} onClose={() => setOpen(null)} onDone={live.reload} />}
      {open === 'remove' && (
        <FormDialog
          title={`Remove ${schedule.name}`}
          submit="Remove"
          isDanger
          onClose={() => setOpen(null)}
          onSubmit={async () => {
            await ask('DELETE /api/schedules/{schedule_id}', { params: { schedule_id: id } })
            go(href('schedules'))
          }}
        >
          <p>It makes no more jobs. Those that it made stay, and run.</p>
        </FormDialog>
      )}
    </>
  )
}
