// The audit log rests on it: a request leaves a note if it wrote a row, and none if it wrote none.
import { expect, test } from 'vitest'
import { Connection } from '../../src/stores/sqlite/connection.ts'
import type { Driver } from '../../src/stores/sqlite/driver.ts'
import { DatabaseSync } from './stage.ts'

test('a connection counts the rows that it wrote, in whichever way, and those only', () => {
  const connection = new Connection({} as Driver, new DatabaseSync(':memory:'))
  connection.exec('create table words (word text primary key)')
  const written = (work: () => unknown): number => {
    const before = connection.rowsChanged
    work()
    return connection.rowsChanged - before
  }
  expect(written(() => connection.run("insert into words values ('a'), ('b')"))).toBe(2)
  expect(written(() => connection.insert('insert into words values (?)', 'c'))).toBe(1)
  const rename = 'update words set word = ? where word = ? returning word'
  expect(written(() => connection.runReturning(rename, 'd', 'c'))).toBe(1)
  expect(written(() => connection.runReturning(rename, 'e', 'c'))).toBe(0)
  expect(written(() => connection.run('delete from words where word = ?', 'c'))).toBe(0)
  expect(written(() => connection.get('select * from words'))).toBe(0)
  expect(written(() => connection.all('select * from words'))).toBe(0)
  connection.close()
})
