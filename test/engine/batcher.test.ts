import { expect, test, vi } from 'vitest'
import { Batcher } from '../../src/engine/batcher.ts'

/** A batcher whose lists are answered when the test says so. */
function stand() {
  const lists: { readonly items: readonly number[]; answer(): void }[] = []
  const batcher = new Batcher<number, string>(
    (items) =>
      new Promise((resolve) => {
        lists.push({ items, answer: () => resolve(items.map((item) => `answer ${item}`)) })
      }),
  )
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve))
  return { batcher, lists, turn }
}

test('what is added in one turn is one list, and each gets its own answer', async () => {
  const { batcher, lists, turn } = stand()
  const answers = Promise.all([1, 2, 3].map((item) => batcher.add(item)))
  await turn()
  expect(lists.map(({ items }) => items)).toEqual([[1, 2, 3]])
  lists[0]?.answer()
  expect(await answers).toEqual(['answer 1', 'answer 2', 'answer 3'])
})

test('while four lists are under way, what is added is gathered for the next', async () => {
  const { batcher, lists, turn } = stand()
  const answers: Promise<string>[] = []
  for (let item = 1; item <= 7; item++) {
    answers.push(batcher.add(item))
    await turn()
  }
  expect(lists.map(({ items }) => items)).toEqual([[1], [2], [3], [4]])
  lists[2]?.answer()
  await vi.waitFor(() => expect(lists[4]?.items).toEqual([5, 6, 7]))
  const drained = vi.fn()
  void batcher.drained().then(drained)
  for (const { answer } of lists) answer()
  expect(await Promise.all(answers)).toHaveLength(7)
  await vi.waitFor(() => expect(drained).toHaveBeenCalled())
})
