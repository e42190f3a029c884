import { useState } from 'preact/hooks'
import { ask } from '../api/http.ts'
import { mayAdminister, mayOperate } from '../api/session.ts'
import type { LatestJob, Schedule } from '../api/things.ts'
import { useLive } from '../live/use-live.ts'
import { NothingYet } from '../parts/empty.tsx'
import { Icon } from '../parts/icon.tsx'
import { Listing, PageHead } from '../parts/listing.tsx'
import { Badge, type Look, lookOfJob } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { Ago, fullTime, now } from '../parts/time.tsx'
import { attempt, say } from '../parts/toast.tsx'
import { href, queryOf } from '../route.ts'
import { timingWords } from './cron-words.ts'
import { ScheduleDialog } from './schedule-form.tsx'

export const OUTCOMES_SHOWN = 20

export function lookOfSchedule(schedule: Schedule): Look {
  if (schedule.disabled_reason !== null) return { word: 'Broken', tone: 'bad', icon: 'warn' }
  if (!schedule.enabled) return { word: 'Disabled', tone: 'none', icon: 'pause' }
  const isLate = schedule.next_trigger_at !== null && now.value - Date.parse(schedule.next_trigger_at) > 10_000
  return isLate ? { word: 'Late', tone: 'warn', icon: 'clock' } : { word: 'On', tone: 'good', icon: 'check' }
}

/** The last outcomes, oldest first: each is a link, with its state in words. */
export function OutcomeStrip({ jobs }: { jobs: readonly LatestJob[] }) {
  if (jobs.length === 0) return <span class="faint small">none yet</span>
  return (
    <span class="strip" role="group" aria-label={`Last ${jobs.length} outcomes`}>
      {jobs.toReversed().map((job) => {
        const look = lookOfJob(job)
        const words = `${look.word}, ${fullTime(job.slot_at ?? job.created_at)}`
        return <a class={look.tone} href={href('jobs', job.job_id)} title={words} aria-label={words} key={job.job_id} />
      })}
    </span>
  )
}

export function trigger(schedule: Schedule, onDone: () => void): void {
  void attempt(async () => {
    const job = await ask('POST /api/schedules/{schedule_id}/trigger', {
      params: { schedule_id: schedule.schedule_id },
      body: {},
    })
    say('A job is queued.', { link: { href: href('jobs', job.job_id), text: 'Open it' } })
  }, onDone)
}

export function turn(schedule: Schedule, enabled: boolean, onDone: () => void): void {
  void attempt(
    () =>
      ask('PATCH /api/schedules/{schedule_id}', { params: { schedule_id: schedule.schedule_id }, body: { enabled } }),
    () => {
      say(enabled ? `${schedule.name} is on.` : `${schedule.name} is off. Jobs it has made stay.`)
      onDone()
    },
  )
}

export function SchedulesPage() {
  const [isOpen, setOpen] = useState(false)
  const cursor = queryOf('cursor')
  const schedules = useLive(
    `schedules ${cursor}`,
    (signal) =>
      ask('GET /api/schedules', {
        query: { limit: '50', latest_jobs: OUTCOMES_SHOWN, ...(cursor && { cursor }) } as never,
        signal,
      }),
    { everyMs: 5_000 },
  )
  return (
    <>
      <PageHead title="Schedules" sub="What makes jobs by itself, and when">
        {mayAdminister.value && (
          <button type="button" class="button primary" onClick={() => setOpen(true)}>
            <Icon name="plus" /> New schedule
          </button>
        )}
      </PageHead>
      <div class="card">
        <Listing
          live={schedules}
          empty={
            <NothingYet
              title="No schedules yet"
              command={'pawl schedules create nightly --type <type> --cron "0 2 * * *"'}
            >
              A schedule makes jobs of a type or a template, by cron or at a fixed interval.
            </NothingYet>
          }
        >
          {(items) => (
            <Table
              label="Schedules"
              rows={items}
              keyOf={(schedule) => schedule.schedule_id}
              nameOf={(schedule) => schedule.name}
              hrefOf={(schedule) => href('schedules', schedule.schedule_id)}
              columns={[
                {
                  key: 'name',
                  head: 'Schedule',
                  class: 'lead',
                  cell: (schedule) => (
                    <span class="main-cell">
                      <a class="clip" href={href('schedules', schedule.schedule_id)}>
                        {schedule.name}
                      </a>
                      <span class="under clip">{schedule.type ?? 'from a template'}</span>
                    </span>
                  ),
                },
                {
                  key: 'state',
                  head: 'State',
                  class: 'side-cell',
                  cell: (schedule) => <Badge look={lookOfSchedule(schedule)} />,
                },
                {
                  key: 'when',
                  head: 'When',
                  cell: (schedule) => (
                    <span class="main-cell">
                      <span>{timingWords(schedule)}</span>
                      <span class="under mono">
                        {schedule.cron === null ? '' : `${schedule.cron} · `}
                        {schedule.timezone}
                      </span>
                    </span>
                  ),
                },
                {
                  key: 'next',
                  head: 'Next',
                  class: 'num',
                  cell: (schedule) =>
                    schedule.enabled ? <Ago at={schedule.next_trigger_at} /> : <span class="faint">–</span>,
                },
                {
                  key: 'last',
                  head: `Last ${OUTCOMES_SHOWN} outcomes`,
                  cell: (schedule) => <OutcomeStrip jobs={schedule.latest_jobs ?? []} />,
                },
                {
                  key: 'act',
                  head: '',
                  class: 'num',
                  cell: (schedule) =>
                    mayOperate.value && (
                      <span class="row keep tight">
                        <button type="button" class="button slim" onClick={() => trigger(schedule, schedules.reload)}>
                          Trigger
                        </button>
                        <button
                          type="button"
                          class="button slim"
                          onClick={() => turn(schedule, !schedule.enabled, schedules.reload)}
                        >
                          {schedule.enabled ? 'Disable' : 'Enable'}
                        </button>
                      </span>
                    ),
                },
              ]}
            />
          )}
        </Listing>
      </div>
      {isOpen && <ScheduleDialog schedule={null} onClose={() => setOpen(false)} onDone={schedules.reload} />}
    </>
  )
}
