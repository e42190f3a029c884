import { ask } from '../api/http.ts'
import { mayAdminister } from '../api/session.ts'
import type { Delivery } from '../api/things.ts'
import { shortId } from '../parts/copy.tsx'
import { durationWords } from '../parts/duration-words.ts'
import { Icon } from '../parts/icon.tsx'
import { Badge, lookOf } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { Ago } from '../parts/time.tsx'
import { attempt, say } from '../parts/toast.tsx'
import { href } from '../route.ts'

export function DeliveryRows({ items, onDone }: { items: readonly Delivery[]; onDone: () => void }) {
  const replay = (delivery: Delivery) =>
    void attempt(
      () =>
        ask('POST /api/webhook-deliveries/{delivery_id}/replay', {
          params: { delivery_id: delivery.delivery_id },
          body: {},
        }),
      () => {
        say('It is sent again.')
        onDone()
      },
    )
  return (
    <Table
      label="Deliveries"
      rows={items}
      keyOf={(delivery) => delivery.delivery_id}
      nameOf={(delivery) => delivery.event}
      columns={[
        {
          key: 'event',
          head: 'Event',
          class: 'lead',
          cell: (delivery) => (
            <span class="main-cell">
              <strong class="clip">{delivery.event}</strong>
              <span class="under">
                job <a href={href('jobs', delivery.job_id)}>{shortId(delivery.job_id)}</a>
              </span>
            </span>
          ),
        },
        {
          key: 'state',
          head: 'State',
          class: 'side-cell',
          cell: (delivery) => <Badge look={lookOf(delivery.status)} />,
        },
        { key: 'tries', head: 'Tries', class: 'num', cell: (delivery) => delivery.attempts },
        {
          key: 'answer',
          head: 'Answer',
          cell: (delivery) => (
            <span class="clip" title={delivery.response_excerpt ?? delivery.last_error ?? ''}>
              {delivery.last_status_code ?? ''} <span class="soft">{delivery.last_error ?? ''}</span>
            </span>
          ),
        },
        {
          key: 'latency',
          head: 'Took',
          class: 'num',
          cell: (delivery) => (delivery.latency_ms === null ? '–' : durationWords(delivery.latency_ms)),
        },
        { key: 'created', head: 'Made', class: 'num', cell: (delivery) => <Ago at={delivery.created_at} /> },
        {
          key: 'act',
          head: '',
          class: 'num',
          cell: (delivery) =>
            mayAdminister.value &&
            delivery.status !== 'PENDING' && (
              <button type="button" class="button slim" onClick={() => replay(delivery)}>
                <Icon name="retry" /> Replay
              </button>
            ),
        },
      ]}
    />
  )
}
