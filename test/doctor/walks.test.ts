// The doctor goes through tables in pages. One whose pages have changed places may lead it in a circle.
import { expect, test } from 'vitest'
import { Connection } from '../../src/stores/sqlite/connection.ts'
import { loadDefaultDriver } from '../../src/stores/sqlite/driver.ts'
import { pagesOf } from '../../src/stores/sqlite/statements/checks/probe.ts'

const driver = await loadDefaultDriver()

function boundsOf(next: string, start: readonly (string | number)[]): (readonly unknown[])[] {
  const connection = new Connection(driver, driver.open(':memory:'))
  const pages: (readonly unknown[])[] = []
  for (const bounds of pagesOf({ next, start }, connection)) {
    pages.push(bounds)
    if (pages.length > 10) break
  }
  connection.close()
  return pages
}

test('a walk goes on as long as it gets further, and ends where nothing is left', () => {
  expect(boundsOf('select ? + 1 as seq limit 1', [1]).slice(0, 2)).toEqual([
    [1, 2],
    [2, 3],
  ])
  expect(boundsOf('select 7 as seq where ? < 7', [1])).toEqual([[1, 7]])
  expect(boundsOf('select max(7) as seq where ? < 7', [1])).toEqual([[1, 7]])
  // By bytes, as SQLite compares texts: the last character is more than one unit of JavaScript, each below the first one.
  expect(boundsOf("select '😀' as tag, 2 as seq where ? || ? = 'ﬀ9'", ['ﬀ', 9])).toEqual([['ﬀ', 9, '😀', 2]])
})

test('a walk that does not get further ends', () => {
  expect(boundsOf('select 7 as seq where ? is not null', [1])).toEqual([[1, 7]])
  expect(boundsOf('select 9 - ? as seq', [1])).toEqual([[1, 8]])
  expect(boundsOf("select 'a' as tag, 3 as seq where ? || ? is not null", ['', 1])).toEqual([['', 1, 'a', 3]])
  expect(boundsOf('select null as tag, 3 as seq where ? || ? is not null', ['', 1])).toEqual([])
  expect(boundsOf("select 'text' as seq where ? is not null", [1])).toEqual([])
})
