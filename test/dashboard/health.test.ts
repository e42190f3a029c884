import { expect, test } from 'vitest'
import type { Node, Schedule, Statistics } from '../../dashboard/src/api/things.ts'
import { countWords, decideHealth } from '../../dashboard/src/pages/overview-health.ts'

const NOW = Date.parse('2026-11-17T12:00:00Z')
const ago = (ms: number) => new Date(NOW - ms).toISOString()

function healthOf(queue: object, nodes: readonly object[], schedules: readonly object[] = []) {
  const counts = { counted_to: 10_000, queued: 0, ready: 0, running: 0, oldest_ready_at: null }
  return decideHealth({
    statistics: { queue: { ...counts, ...queue } } as unknown as Statistics,
    nodes: nodes as Node[],
    schedules: schedules as Schedule[],
    nowMs: NOW,
  })
}

const NODE = { name: 'a', alive: true, claims: true, last_seen_at: ago(500) }

test('one sentence says what an operator must know first', () => {
  const late = { enabled: true, next_trigger_at: ago(60_000), disabled_reason: null }
  const silent = { ...NODE, name: 'b', last_seen_at: ago(12_000) }
  expect(healthOf({ ready: 1, oldest_ready_at: ago(240_000) }, [NODE, silent], [late])).toEqual({
    tone: 'bad',
    sentence: 'Node b silent for 12 s, 1 schedule late, oldest ready job 4 min.',
  })
  expect(healthOf({}, [NODE])).toEqual({
    tone: 'good',
    sentence: 'All is well, 1 node takes jobs, nothing waits that could run.',
  })
})

test('a count that stopped says so, wherever the API stopped', () => {
  expect(countWords(4, 5)).toBe('4')
  expect(countWords(5, 5)).toBe('5 or more')
  expect(healthOf({ counted_to: 5, queued: 5 }, []).sentence).toBe('No node takes jobs, 5 or more wait.')
  expect(healthOf({ counted_to: 20_000, ready: 12_000 }, [NODE]).sentence).toContain('12,000 ready')
})
