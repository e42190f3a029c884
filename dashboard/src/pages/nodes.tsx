import { ask } from '../api/http.ts'
import { mayAdminister } from '../api/session.ts'
import type { Node } from '../api/things.ts'
import { useLive } from '../live/use-live.ts'
import { shortId } from '../parts/copy.tsx'
import { NothingYet } from '../parts/empty.tsx'
import { Card, Listing, PageHead } from '../parts/listing.tsx'
import { Badge, type Look } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { Ago } from '../parts/time.tsx'
import { attempt } from '../parts/toast.tsx'

function lookOfNode(node: Node): Look {
  if (!node.alive) return { word: 'Dead', tone: 'bad', icon: 'cross' }
  return node.claims
    ? { word: 'Takes jobs', tone: 'good', icon: 'check' }
    : { word: 'Stopped', tone: 'warn', icon: 'pause' }
}

export function NodeRows({ nodes }: { nodes: readonly Node[] }) {
  if (nodes.length === 0) {
    return (
      <NothingYet title="No nodes">
        Nothing executes jobs on this store. <code>pawl worker</code>, beside your <code>pawl.config.ts</code>, does.
      </NothingYet>
    )
  }
  return (
    <Table
      label="Nodes"
      rows={nodes}
      keyOf={(node) => node.node_id}
      nameOf={(node) => node.name}
      columns={[
        {
          key: 'name',
          head: 'Node',
          class: 'lead',
          cell: (node) => (
            <span class="main-cell">
              <strong class="clip">
                {node.name}
                {node.is_this && <span class="faint"> (this one)</span>}
              </strong>
              <span class="under clip">
                {node.host} · pid {node.pid} · <span class="mono">{shortId(node.node_id)}</span>
              </span>
            </span>
          ),
        },
        { key: 'state', head: 'State', class: 'side-cell', cell: (node) => <Badge look={lookOfNode(node)} /> },
        { key: 'concurrency', head: 'Places', class: 'num', cell: (node) => node.concurrency },
        {
          key: 'types',
          head: 'Types',
          cell: (node) => (
            <span class="clip" title={node.types.join(', ')}>
              {node.types.length === 0
                ? '–'
                : `${node.types.slice(0, 3).join(', ')}${node.types.length > 3 ? ` and ${node.types.length - 3} more` : ''}`}
            </span>
          ),
        },
        { key: 'started', head: 'Started', class: 'num', cell: (node) => <Ago at={node.started_at} /> },
        {
          key: 'seen',
          head: 'Seen',
          class: 'num',
          cell: (node) =>
            node.last_seen_at ? <Ago at={node.last_seen_at} /> : <span class="faint">{node.alive ? 'now' : '–'}</span>,
        },
      ]}
    />
  )
}

export function NodesPage() {
  const nodes = useLive('nodes', (signal) => ask('GET /api/nodes', { query: { limit: '200' } as never, signal }), {
    concerns: () => false,
    everyMs: 2_000,
  })
  const limits = useLive('limits', (signal) => ask('GET /api/limits', { query: { limit: '200' } as never, signal }), {
    concerns: () => false,
    everyMs: 10_000,
  })
  const own = nodes.data?.items.find((node) => node.is_this)
  const turn = (to: 'start' | 'stop') =>
    void attempt(
      () =>
        to === 'start'
          ? ask('POST /api/scheduler/start', { body: {} })
          : ask('POST /api/scheduler/stop', { body: { timeout: 1 } }),
      nodes.reload,
    )
  return (
    <>
      <PageHead title="Nodes" sub="Processes that execute jobs of this store">
        {mayAdminister.value && own && (
          <button type="button" class="button" onClick={() => turn(own.claims ? 'stop' : 'start')}>
            {own.claims ? 'Stop taking jobs here' : 'Take jobs here'}
          </button>
        )}
      </PageHead>
      <div class="card">
        <Listing live={nodes} empty={<NodeRows nodes={[]} />}>
          {(items) => <NodeRows nodes={items} />}
        </Listing>
      </div>
      <Card title="Limits that hold across all nodes">
        <Listing live={limits} empty={<div class="card-body faint">None: only the places of each node limit.</div>}>
          {(items) => (
            <Table
              label="Limits"
              rows={items}
              keyOf={(limit) => limit.name}
              nameOf={(limit) => limit.name}
              columns={[
                { key: 'name', head: 'Limit', class: 'lead', cell: (limit) => <span class="mono">{limit.name}</span> },
                {
                  key: 'max',
                  head: 'At once',
                  class: 'num side-cell',
                  cell: (limit) => limit.max.toLocaleString('en'),
                },
              ]}
            />
          )}
        </Listing>
      </Card>
    </>
  )
}
