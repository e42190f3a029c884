import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseAst } from 'vitest/node'
import { BUGS } from '../../torture/bugs/bugs.ts'
import { edited } from '../../torture/bugs/planted-package.ts'
import { runShort } from './stage.ts'

test('there are at least 20 bugs to plant, each with a name of its own', () => {
  expect(BUGS.length).toBeGreaterThanOrEqual(20)
  expect(new Set(BUGS.map(({ name }) => name)).size).toBe(BUGS.length)
})

test.for(BUGS)('the place of $name is still where it can be planted', (bug) => {
  const texts = new Map<string, string>()
  for (const edit of bug.edits) {
    const text = texts.get(edit.file) ?? readFileSync(new URL(`../../src/${edit.file}`, import.meta.url), 'utf8')
    texts.set(edit.file, edited(text, edit, bug))
    expect(texts.get(edit.file)).not.toBe(text)
  }
  for (const text of texts.values()) parseAst(text, { lang: 'ts' })
})

test('a planted bug is found', { timeout: 300_000 }, async () => {
  const { outcome } = await runShort('bugs', '--only', 'any-parent-releases')
  expect(outcome.counts).toEqual({ found: 1 })
})
