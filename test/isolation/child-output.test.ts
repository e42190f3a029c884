import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { ChildOutput, OUTPUT_FILE_BYTES_MAX } from '../../dist/engine/isolation/child-output.js'
import { newFolder } from './stage.ts'

test('what comes between the exit of a child and the end of its output is kept', async () => {
  const path = join(newFolder(), 'run.log')
  const { output, stream } = open(path)
  const closed = output.close()
  stream.write('last ')
  setImmediate(() => stream.end('words\n'))
  await closed
  expect(output.tail()).toBe('last words')
  expect(readFileSync(path, 'utf8')).toBe('last words\n')
})

test('without a file only the end is remembered', async () => {
  const { output, stream } = open(null)
  stream.end('one\ntwo\n')
  await output.close()
  expect(output.tail()).toBe('one\ntwo')
})

test('any bytes make a readable tail', async () => {
  const { output, stream } = open(null)
  stream.end(Buffer.from([0x61, 0x00, 0xff, 0x62]))
  await output.close()
  expect(output.tail()).toBe('a\ufffd\ufffdb')
})

test('a file has a limit, and going over it is told once', async () => {
  const path = join(newFolder(), 'run.log')
  const { output, stream, warnings } = open(path)
  const chunk = Buffer.alloc(1024 * 1024, 'x')
  for (let written = 0; written < OUTPUT_FILE_BYTES_MAX + 3 * chunk.length; written += chunk.length) stream.write(chunk)
  stream.end('the end')
  await output.close()
  expect(statSync(path).size).toBe(OUTPUT_FILE_BYTES_MAX)
  expect(warnings).toEqual([`Output beyond ${OUTPUT_FILE_BYTES_MAX} bytes is not kept.`])
  expect(output.tail()).toMatch(/xthe end$/)
})

test.runIf(existsSync('/dev/full'))('a full disk is told once, and the child can go on printing', async () => {
  const { output, stream, warnings } = open('/dev/full')
  for (let line = 1; line <= 1000; line++) stream.write(`${'x'.repeat(1000)} ${line}\n`)
  stream.end('the end')
  await output.close()
  expect(warnings).toEqual([expect.stringContaining('ENOSPC')])
  expect(output.tail()).toMatch(/x 1000\nthe end$/)
})

function open(path: string | null) {
  const warnings: string[] = []
  const output = new ChildOutput(path, (text) => warnings.push(text))
  const stream = new PassThrough()
  output.read(stream)
  return { output, stream, warnings }
}
