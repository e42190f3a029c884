import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { ROOT } from '../docs/markdown.ts'

const FOLDER = join(ROOT, 'dist', 'dashboard')
const SIZE_MAX = 120 * 1024

const files = readdirSync(FOLDER, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name))

test('the page is under 120 KB gzip, all of its files together', () => {
  const size = files.reduce((sum, file) => sum + gzipSync(readFileSync(file)).byteLength, 0)
  expect(files.length).toBeGreaterThan(2)
  expect(size).toBeLessThan(SIZE_MAX)
})

test('the page has no inline script or style, no absolute path and no address of anybody else', () => {
  const html = readFileSync(join(FOLDER, 'index.html'), 'utf8')
  expect(html).not.toMatch(/<style|style=|\son\w+=|<base/)
  expect([...html.matchAll(/<script(?![^>]*\ssrc=)/g)]).toEqual([])
  for (const [, address] of html.matchAll(/(?:src|href)="([^"]*)"/g)) expect(address).toMatch(/^\.\//)
  for (const file of files) {
    const addresses = [...readFileSync(file, 'utf8').matchAll(/https?:\/\/[\w.-]+/g)].map(([address]) => address)
    const others = addresses.filter((address) => !['http://www.w3.org', 'https://example.com'].includes(address))
    expect(others, file).toEqual([])
  }
})
