import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT, readPage } from './markdown.ts'

const source = readFileSync(join(ROOT, 'src/domain/errors.ts'), 'utf8')
const union = /export type ErrorCode =((?:\s*\| '[a-z_]+')+)/.exec(source)?.[1] ?? ''
const codes = [...union.matchAll(/'([a-z_]+)'/g)].map(([, code = '']) => code)

describe('docs/errors.md', () => {
  const page = readPage('docs/errors.md')
  const described = [...page.text.matchAll(/^### `([a-z_]+)`$/gm)].map(([, code = '']) => code)

  it('has a section for every code, in alphabetical order, and for no other', () => {
    expect(codes.length).toBeGreaterThan(20)
    expect(described).toEqual([...codes].sort())
  })

  it('says for each code what caused it and what to do', () => {
    const sections = page.text.split(/^### /m).slice(1)
    const incomplete = sections.filter((text) => !text.includes('**Cause.**') || !text.includes('**Remedy.**'))
    expect(incomplete.map((text) => text.split('\n')[0])).toEqual([])
  })
})
