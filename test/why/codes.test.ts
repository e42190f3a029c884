import { describe, expect, it } from 'vitest'
import { WHY_CODES } from '../../src/domain/why.ts'
import { readPage } from '../docs/markdown.ts'

describe('docs/why.md', () => {
  const rows = readPage('docs/why.md')
    .text.split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter((cells) => cells.length === 6 && /^`[a-z_]+`$/.test(cells[1] ?? ''))

  it('describes every code once, and no other', () => {
    const described = rows.map(([, code = '']) => code.replaceAll('`', ''))
    expect(described.sort()).toEqual([...WHY_CODES])
  })

  it('says for each code what it means and what to do', () => {
    const incomplete = rows.filter(([, , means, what]) => means === '' || what === '')
    expect(incomplete).toEqual([])
  })
})
