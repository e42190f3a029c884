import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'

// The benchmark is a program of its own that nobody imports: it would rot unnoticed if nothing ran it.

const SECTIONS = ['drain', 'enqueue', 'latency', 'loop', 'growth', 'memory']

const bench = join(import.meta.dirname, '..', 'bench', 'bench.mjs')
const folder = mkdtempSync(join(tmpdir(), 'pawl-bench-test-'))

afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function runBench(...args: string[]) {
  const child = spawn(process.execPath, [bench, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout, stderr }
}

describe('the benchmark', () => {
  it('knows what it can measure', async () => {
    const { code, stdout, stderr } = await runBench('oracle')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('Expected one of sqlite, postgres, got oracle.')
  })

  it('runs every section to its end and shows a ratio for each', async () => {
    const { code, stdout, stderr } = await runBench('--quick', '--dir', folder)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const name of SECTIONS) expect(stdout).toMatch(new RegExp(`^${name} …\\n(  .*\\n)*  done in [\\d.]+ s$`, 'm'))
    for (const line of [
      'drain, concurrency 100',
      'drain, concurrency 1',
      'enqueue, 100 concurrent callers',
      'enqueue, one by one',
      'enqueueMany, lists of 500',
      'enqueue to start, same process, p99',
      'enqueue to start, from another process, p99',
      'event-loop delay while draining, concurrency 100, p99',
      'HTTP reads while draining at full speed and serving HTTP, p99',
      'full store: drain, concurrency 100',
      'full store: enqueue, one by one',
      'full store: from opening to the first job',
      'full store: memory of a process',
      'memory over 10,000 jobs, most',
    ]) {
      expect(stdout).toMatch(new RegExp(`^${line}  .+  \\d+\\.\\d{3}( |$)`, 'm'))
    }
    // Small counts on a busy machine prove nothing, so a quick run judges nothing.
    expect(stdout).not.toMatch(/\b(pass|FAIL)\b/)
    expect(readdirSync(folder)).toEqual([])
  })

  it('refuses a section that does not exist, naming those that do', async () => {
    const { code, stdout, stderr } = await runBench('--only', 'warp')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(`Unknown section warp. Sections: ${SECTIONS.join(', ')}.`)
  })

  it('says what does not go together with peers', async () => {
    const refusals: [string[], string][] = [
      [['--peers', 'postgres'], '--peers measures both stores: leave out postgres.'],
      [['--peers', '--only', 'warp'], 'Sections: enqueue, drain, latency, memory, start, growth.'],
      [['--backlog', '5'], '--backlog needs --peers --only growth.'],
      [['--peers', '--backlog', '5'], '--backlog needs --peers --only growth.'],
      [
        ['--peers', '--only', 'growth', '--backlog', 'much'],
        'Expected --backlog to be a whole number from 1, got much.',
      ],
      [['--peers', '--only', 'drain', '--write-docs'], '--write-docs needs a whole run'],
    ]
    for (const [args, sentence] of refusals) {
      const { code, stdout, stderr } = await runBench(...args)
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toContain(sentence)
    }
  })

  it('draws a chart of the ratios to the peers, for the eye and in words', async () => {
    const path = join(import.meta.dirname, '..', 'bench', 'peers', 'chart.mjs')
    const { drawChart } = (await import(path)) as { drawChart: (lines: object[], about: object) => string }
    const lines = [
      { work: 'drain', family: 'sqlite', peer: 'bullmq-everysec', ratio: 3.04 },
      { work: 'drain', family: 'sqlite', peer: 'plainjob-full', ratio: null },
      { work: 'bulk', family: 'postgres', peer: 'pg-boss', ratio: 0.5 },
    ]
    const chart = drawChart(lines, { pawl: '1.0.0', node: '24.0.0', cores: 2 })
    expect(chart).toContain('Draining a full queue of no-op jobs: 3.0 times BullMQ, Redis everysec.')
    expect(chart).toContain('Enqueueing lists of 500: 0.50 times pg-boss.')
    expect(chart.match(/<rect class="(faster|slower)"/g)).toEqual(['<rect class="faster"', '<rect class="slower"'])
    expect(chart).not.toContain('plainjob')
  })
})
