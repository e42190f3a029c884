import { expect, test } from 'vitest'
import { storeKind } from '../stores/package-stores.ts'
import { mostAtOnce, Stage, type Type } from './stage.ts'

const JOBS = storeKind === 'sqlite' ? 3_000 : 1_000
const TYPES = ['quick', 'quick', 'gpu', 'quick', 'quick', 'pair', 'quick', 'quick', 'quick', 'quick'] as const

test('two processes execute thousands of Jobs of one database: each once, in order, within the limits', {
  timeout: 90_000,
}, async () => {
  const stage = new Stage()
  await stage.makeKnown(TYPES)
  const items = Array.from({ length: JOBS }, (_, index) => ({ type: TYPES[index % 10] as Type, params: index }))
  const ids = await stage.enqueueMany(items)
  const options = { concurrency: 4, handleSignals: true }
  const nodes = await Promise.all(['left', 'right'].map((name) => stage.startNode(name, TYPES, options)))
  await stage.drains()
  for (const node of nodes) node.kill('SIGTERM')
  expect(await Promise.all(nodes.map((node) => node.exited))).toEqual([0, 0])

  const notes = stage.notes()
  const begun = notes.filter(({ what }) => what === 'begin')
  expect(begun.map(({ params }) => params).sort(byNumber)).toEqual(items.map(({ params }) => params))
  expect(new Set(begun.map(({ node }) => node))).toEqual(new Set(['left', 'right']))

  // The claims of both processes are one sequence of commits, and each process begins bodies in the order of its claims.
  const places = new Map(ids.map((id, place) => [id, place]))
  const claimed = (await stage.claims()).map((id) => places.get(id) as number)
  for (const type of new Set<string>(TYPES)) {
    const ofType = claimed.filter((place) => items[place]?.type === type)
    expect(ofType).toHaveLength(items.filter((item) => item.type === type).length)
    // On a server two claims at the same instant pass over each other's Jobs: there the order is that of each process.
    if (storeKind === 'sqlite') isAscending(ofType)
    // One process may get all of a limited type: whoever frees the permit claims in the same commit.
    for (const name of ['left', 'right']) {
      isAscending(begun.filter(({ node, ...note }) => node === name && note.type === type).map(({ params }) => params))
    }
  }

  expect(mostAtOnce(notes.filter(({ type }) => type === 'gpu'))).toBe(1)
  expect(mostAtOnce(notes.filter(({ type }) => type === 'pair'))).toBeLessThanOrEqual(2)
  for (const name of ['left', 'right'])
    expect(mostAtOnce(notes.filter(({ node }) => node === name))).toBeLessThanOrEqual(4)

  expect(
    await stage.select('select status, outcome, attempt, count(*) as jobs from pawl_jobs_readable group by 1, 2, 3'),
  ).toEqual([{ status: 'FINISHED', outcome: 'COMPLETED', attempt: 1, jobs: JOBS }])
  await stage.isSound()
})

function isAscending(numbers: readonly unknown[]): void {
  expect(numbers).toEqual(numbers.toSorted(byNumber))
}

function byNumber(a: unknown, b: unknown): number {
  return Number(a) - Number(b)
}
