import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { BUGS } from '../../torture/bugs/bugs.ts'
import { edited } from '../../torture/bugs/planted-package.ts'
import { runShort } from './stage.ts'

test('there are at least 20 bugs to plant, each with a name of its own', () => {
  expect(BUGS.length).toBeGreaterThanOrEqual(20)
  expect(new Set(BUGS.map(({ name }) => name)).size).toBe(BUGS.length)
})

test.for(BUGS)('the place of $name is still where it can be planted', (bug) => {
  for (const edit of bug.edits) {
    const text = readFileSync(new URL(`../../src/${edit.file}`, import.meta.url), 'utf8')
    expect(edited(text, edit, bug)).not.toBe(text)
  }
})

test('a planted bug is found', { timeout: 300_000 }, async () => {
  const { outcome } = await runShort('bugs', '--only', 'any-parent-releases')
  expect(outcome.counts).toEqual({ found: 1 })
})
