// What a power cut must have left is judged by what was said outside until then.
import { expect, test } from 'vitest'
import { checkImage } from '../../torture/power/check-image.ts'
import type { Said } from '../../torture/power/said.ts'
import { Testimony } from '../../torture/power/testimony.ts'
import { newDatabasePath } from '../lifecycle/stage.ts'

const ANSWERED: readonly Said[] = [
  { is: 'began', jobId: 'direct', runId: 'direct', at: 1 },
  { is: 'direct', reservationId: 'direct', result: 7, at: 2 },
]
const PRUNING: Said = { is: 'pruning', ended: [], at: 3 }

/** What an empty database contradicts of what was said. */
function judge(...said: Said[]): Promise<string[]> {
  const testimony = new Testimony()
  for (const line of said) testimony.hear(line)
  return checkImage(newDatabasePath(), testimony, 10)
}

test('a direct execution that was answered and is not there is lost', async () => {
  expect(await judge(...ANSWERED)).toHaveLength(2)
  expect(await judge(PRUNING, ...ANSWERED)).toHaveLength(2)
})

test('one that had begun before a prune may be gone, also when no Job had ended', async () => {
  expect(await judge(...ANSWERED, PRUNING)).toEqual([])
})
