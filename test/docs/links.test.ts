import { existsSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, it } from 'vitest'
import { anchorsOf, type Page, proseOf, ROOT, readPage, readPages } from './markdown.ts'

const pages = readPages()

describe('the documents', () => {
  it('link only to files and headings that exist', () => {
    expect(pages.flatMap(brokenLinksOf)).toEqual([])
  })

  it('can all be reached from README.md', () => {
    const reached = new Set(['README.md'])
    for (const path of reached) for (const target of pagesLinkedFrom(readPage(path))) reached.add(target)
    const lost = pages.map(({ path }) => path).filter((path) => !reached.has(path))
    expect(lost).toEqual([])
  })
})

describe('README.md', () => {
  it('begins with the two commands', () => {
    const lines = readPage('README.md').text.split('\n')
    expect(lines.slice(0, 2).map((line) => line.trim())).toEqual(['npm ci && npm start', 'npm ci && npm test'])
  })
})

interface Link {
  readonly target: string
  readonly anchor: string
}

function linksOf(page: Page): Link[] {
  return [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, href = '']) => href)
    .filter((href) => !/^[a-z]+:/.test(href))
    .map((href) => {
      const [file = '', anchor = ''] = href.split('#')
      return { target: file === '' ? page.path : normalize(join(dirname(page.path), file)), anchor }
    })
}

function brokenLinksOf(page: Page): string[] {
  return linksOf(page)
    .filter(({ target, anchor }) => !existsSync(join(ROOT, target)) || !hasAnchor(target, anchor))
    .map(({ target, anchor }) => `${page.path}: ${target}${anchor === '' ? '' : `#${anchor}`}`)
}

function hasAnchor(target: string, anchor: string): boolean {
  if (anchor === '') return true
  return target.endsWith('.md') && anchorsOf(readPage(target)).has(anchor)
}

function pagesLinkedFrom(page: Page): string[] {
  return linksOf(page)
    .map(({ target }) => (isFolder(target) ? join(target, 'README.md') : target))
    .filter((target) => target.endsWith('.md') && existsSync(join(ROOT, target)))
}

function isFolder(path: string): boolean {
  return existsSync(join(ROOT, path)) && statSync(join(ROOT, path)).isDirectory()
}
