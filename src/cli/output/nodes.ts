import type { Cli } from '../cli.ts'
import type { Answered } from '../wire.ts'
import type { Column } from './table.ts'
import { relativeTime } from './times.ts'

type Node = Answered<'GET /api/nodes'>['items'][number]

function stateOf({ alive, claims }: Node): string {
  if (!alive) return 'dead'
  return claims ? 'working' : 'stopped'
}

export function nodeColumns(cli: Cli): Column<Node>[] {
  const now = cli.clock.now()
  const { red, yellow } = cli.colors
  const paint = (text: string, node: Node) => (!node.alive ? red(text) : node.claims ? text : yellow(text))
  return [
    { title: 'ID', text: (node) => node.node_id },
    { title: 'STATE', text: stateOf, paint, yields: 1 },
    { title: 'NAME', text: (node) => node.name, yields: 1 },
    { title: 'PLACES', text: (node) => node.concurrency, align: 'right', yields: 3, minWidth: 6 },
    { title: 'HOST', text: (node) => node.host, yields: 4 },
    { title: 'PID', text: (node) => node.pid, align: 'right', yields: 4, minWidth: 5 },
    { title: 'STARTED', text: (node) => relativeTime(node.started_at, now), yields: 2 },
    { title: 'TYPES', text: (node) => node.types.join(', '), yields: 5 },
  ]
}
