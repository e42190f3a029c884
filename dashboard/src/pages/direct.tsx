import { useState } from 'preact/hooks'
import { ApiProblem, ask } from '../api/http.ts'
import { mayOperate } from '../api/session.ts'
import type { Reservation } from '../api/things.ts'
import { useLive } from '../live/use-live.ts'
import { useTypes } from '../live/use-types.ts'
import { shortId } from '../parts/copy.tsx'
import { NothingYet } from '../parts/empty.tsx'
import { ChoiceField, TextField } from '../parts/field.tsx'
import { Icon } from '../parts/icon.tsx'
import { Json } from '../parts/json.tsx'
import { Card, Listing, PageHead } from '../parts/listing.tsx'
import { useParams } from '../parts/params-field.tsx'
import { Badge, lookOf } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { Ago, Took } from '../parts/time.tsx'
import { queryOf, setQuery } from '../route.ts'

type Outcome =
  | { readonly kind: 'running'; readonly since: string; readonly before: string }
  | {
      readonly kind: 'done'
      readonly result: unknown
      readonly skipped: string | null
      readonly took: readonly [string, string]
    }
  | { readonly kind: 'failed'; readonly words: string; readonly code: string }

export function DirectPage() {
  const reservations = useReservations()
  return (
    <>
      <PageHead title="Direct" sub="Run a type now, in the next free place, before the queue. It makes no job." />
      {mayOperate.value && <RunNow reservations={reservations.data?.items ?? []} onDone={reservations.reload} />}
      <Card title="Reservations" note="who asked, what came of it">
        <Listing
          live={reservations}
          empty={
            <NothingYet title="Nothing was run directly yet" command="pawl run <type>">
              Each direct execution leaves its reservation here.
            </NothingYet>
          }
        >
          {(items) => <ReservationRows items={items} />}
        </Listing>
      </Card>
    </>
  )
}

function useReservations() {
  const cursor = queryOf('cursor')
  return useLive(
    `reservations ${cursor}`,
    (signal) => ask('GET /api/reservations', { query: { limit: '25', ...(cursor && { cursor }) } as never, signal }),
    { everyMs: 1_000 },
  )
}

function RunNow({ reservations, onDone }: { reservations: readonly Reservation[]; onDone: () => void }) {
  const known = useTypes() ?? []
  const name = queryOf('type') || known.find((type) => type.registered)?.type || ''
  const type = known.find((one) => one.type === name)
  const params = useParams(name, type?.params_schema)
  const [waitSeconds, setWaitSeconds] = useState('60')
  const [onBusy, setOnBusy] = useState<'wait' | 'reject'>('wait')
  const [outcome, setOutcome] = useState<Outcome | null>(null)
  const isReady = name !== '' && params.isReady
  const run = async () => {
    setOutcome({ kind: 'running', since: new Date().toISOString(), before: reservations[0]?.reservation_id ?? '' })
    try {
      const answer = await ask('POST /api/direct/{type}', {
        params: { type: name },
        body: {
          ...(params.value !== undefined && { params: params.value }),
          wait_timeout_ms: Math.max(1, Number(waitSeconds)) * 1_000,
          on_busy: onBusy,
        },
      })
      setOutcome({
        kind: 'done',
        result: answer.result,
        skipped: answer.skipped,
        took: [answer.started_at, answer.finished_at],
      })
    } catch (error) {
      const code = error instanceof ApiProblem ? error.code : 'unknown'
      setOutcome({ kind: 'failed', words: error instanceof Error ? error.message : String(error), code })
    }
    onDone()
  }
  return (
    <div class="cards">
      <form
        class="card"
        aria-label="Run a type now"
        onSubmit={(event) => {
          event.preventDefault()
          void run()
        }}
      >
        <div class="card-head">
          <h2>Run now</h2>
          {params.toggle}
        </div>
        <div class="card-body stack">
          <ChoiceField
            label="Type"
            value={name}
            onChange={(value) => {
              setQuery({ type: value })
              setOutcome(null)
            }}
            options={known.map((one) => [one.type, one.registered ? one.type : `${one.type} (no node)`])}
          />
          {params.field}
          <div class="pair">
            <ChoiceField
              label="If there is no free place"
              value={onBusy}
              onChange={setOnBusy}
              options={[
                ['wait', 'wait for one'],
                ['reject', 'give up at once'],
              ]}
            />
            <TextField label="Wait at most, seconds" type="number" value={waitSeconds} onInput={setWaitSeconds} />
          </div>
          <button type="submit" class="button primary" disabled={!isReady || outcome?.kind === 'running'}>
            <Icon name="play" /> Run
          </button>
        </div>
      </form>
      <Card title="Outcome">
        <div class="card-body" aria-live="polite" data-outcome={outcome?.kind}>
          <OutcomeView outcome={outcome} type={name} reservations={reservations} />
        </div>
      </Card>
    </div>
  )
}

interface OutcomeProps {
  readonly outcome: Outcome | null
  readonly type: string
  readonly reservations: readonly Reservation[]
}

function OutcomeView({ outcome, type, reservations }: OutcomeProps) {
  if (outcome === null) return <span class="faint">What it returns is shown here.</span>
  if (outcome.kind === 'running') {
    // The newest of this type that was not there before: ids grow.
    const own = reservations.find((one) => one.job_type === type && one.reservation_id > outcome.before)
    const isRunning = own?.started_at != null
    return (
      <span class="row" data-waits={!isRunning}>
        <Badge look={lookOf(isRunning ? 'RUNNING' : 'WAITING')} />
        {isRunning ? `${type} runs` : `${type} waits for the next free place`},{' '}
        <Took from={own?.started_at ?? outcome.since} to={null} />
      </span>
    )
  }
  if (outcome.kind === 'failed') {
    return (
      <div class="banner bad" role="alert">
        <Icon name="warn" />
        <div>
          <strong>{outcome.code}</strong>
          <br />
          {outcome.words}
        </div>
      </div>
    )
  }
  return (
    <div class="stack">
      <span class="row">
        <Badge look={lookOf(outcome.skipped === null ? 'COMPLETED' : 'SKIPPED')} /> ran{' '}
        <Took from={outcome.took[0]} to={outcome.took[1]} />
      </span>
      {outcome.skipped === null ? <Json value={outcome.result} what="result" /> : <p>{outcome.skipped}</p>}
    </div>
  )
}

function ReservationRows({ items }: { items: readonly Reservation[] }) {
  return (
    <Table
      label="Reservations"
      rows={items}
      keyOf={(reservation) => reservation.reservation_id}
      nameOf={(reservation) => reservation.job_type}
      columns={[
        {
          key: 'type',
          head: 'Type',
          class: 'lead',
          cell: (one) => (
            <span class="main-cell">
              <strong class="clip">{one.job_type}</strong>
              <span class="under mono">{shortId(one.reservation_id)}</span>
            </span>
          ),
        },
        {
          key: 'state',
          head: 'State',
          class: 'side-cell',
          cell: (one) => (
            <Badge look={lookOf(one.status === 'RELEASED' && one.outcome !== null ? one.outcome : one.status)} />
          ),
        },
        {
          key: 'outcome',
          head: 'Reason',
          cell: (one) => (
            <span class="clip" title={one.error ?? ''}>
              {one.error === null ? (one.reason ?? '–') : <span class="tone-bad">{one.error}</span>}
            </span>
          ),
        },
        { key: 'by', head: 'By', cell: (one) => one.created_by ?? '–' },
        { key: 'created', head: 'Asked', class: 'num', cell: (one) => <Ago at={one.created_at} /> },
        {
          key: 'waited',
          head: 'Waited',
          class: 'num',
          cell: (one) => <Took from={one.created_at} to={one.started_at ?? one.finished_at} />,
        },
        { key: 'ran', head: 'Ran', class: 'num', cell: (one) => <Took from={one.started_at} to={one.finished_at} /> },
      ]}
    />
  )
}
