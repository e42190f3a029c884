import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const bench = join(import.meta.dirname, '..', '..', 'bench', 'bench.mjs')

// Without `enqueue`, which fetches pg-boss from npm.
const SECTIONS = ['drain', 'latency', 'loop', 'growth', 'memory', 'snapshot']

test('the benchmark on PostgreSQL brings its own server, and shows a ratio for each line', async () => {
  const run = promisify(execFile)(process.execPath, [bench, 'postgres', '--quick', '--only', SECTIONS.join(',')])
  const { stdout, stderr } = await run
  expect(stderr).toBe('')
  expect(stdout).toMatch(/PostgreSQL \d+\.\d+ on the same machine, fsync=on/)
  for (const name of SECTIONS) expect(stdout).toMatch(new RegExp(`^${name} …\\n(  .*\\n)*  done in [\\d.]+ s$`, 'm'))
  for (const line of [
    'drain, concurrency 100',
    'drain, concurrency 500',
    'drain, concurrency 1',
    'full store: drain, concurrency 100',
    'full store: enqueue, 100 concurrent callers',
    'full store: enqueue, one by one',
    'full store: from opening to the first job',
    'full store: memory of a process',
    'enqueue to start, same process, p50',
    'enqueue to start, from another process, p99',
    'HTTP reads while draining at full speed and serving HTTP, p99',
    'memory over 10,000 jobs, most',
    'old snapshot: the worst second',
  ]) {
    expect(stdout).toMatch(new RegExp(`^${line}  .+  \\d+\\.\\d{3}( |$)`, 'm'))
  }
  // Small counts on a busy machine prove nothing, so a quick run judges nothing.
  expect(stdout).not.toMatch(/\b(pass|FAIL)\b/)
}, 120_000)
