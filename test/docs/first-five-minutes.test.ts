import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { call, PATIENCE, type PawlProcess, startNode, startProgram } from '../cli/serve-process.ts'
import { type CodeBlock, ROOT, readPage } from './markdown.ts'

// The page is executed against the demo, in order. A block `sh run` is what a person types, `exit=2` what it exits with, and
// a block `text output` after it is all that it prints. Ids, instants and numbers are those of whoever wrote the page; the
// first time that an id is printed it stands for the one that was really printed.

const page = readPage('docs/first-five-minutes.md')
const folder = mkdtempSync(join(tmpdir(), 'pawl-five-minutes-'))
/** The ids on the page, and those that were printed in their place. */
const ids = new Map<string, string>()

let demo: PawlProcess
let url = ''

interface Step {
  readonly block: CodeBlock
  readonly exit: number
  readonly output: string | null
}

const steps = page.blocks.flatMap((block, index): Step[] => {
  if (block.language !== 'sh' || !block.words.includes('run')) return []
  const next = page.blocks[index + 1]
  const exit = Number(block.words.find((word) => word.startsWith('exit='))?.slice('exit='.length) ?? 0)
  return [{ block, exit, output: next?.words.includes('output') === true ? next.text : null }]
})

beforeAll(async () => {
  demo = startNode(['demo/start.mjs', '--port', '0', '--folder', folder], ROOT)
  ;[, url = ''] = await demo.prints(/^Pawl is ready at (\S+) /)
  await demo.prints(/^What the webhook receives:$/)
  await letDemoSettle()
}, 60_000)

afterAll(async () => {
  demo.kill('SIGTERM')
  await demo.exited
  rmSync(folder, { recursive: true, force: true })
})

/** A reader is slower than the demo's own jobs; we wait for them, and let the clock make no more. */
async function letDemoSettle(): Promise<void> {
  const { body } = await call(url, 'GET', '/api/schedules')
  for (const { schedule_id: id } of body['items'] as { schedule_id: string }[]) {
    await call(url, 'PATCH', `/api/schedules/${id}`, { enabled: false })
  }
  await vi.waitFor(
    async () => {
      const jobs = await call(url, 'GET', '/api/jobs?limit=200')
      const live = (jobs.body['items'] as { status: string; hold: string | null }[]).filter(
        ({ status, hold }) =>
          status === 'RUNNING' || (status === 'QUEUED' && hold !== 'delayed' && hold !== 'dependencies'),
      )
      expect(live).toEqual([])
    },
    { ...PATIENCE, timeout: 50_000 },
  )
}

const ID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const INSTANT = '\\d{4}-\\d\\d-\\d\\dT[\\d:.]+(?:Z|[+-]\\d\\d:\\d\\d)'
const DISTANCE = '\\bnow\\b|(?:\\bin )?\\b[\\d.]+ (?:ms|s|m|h|d)\\b(?: ago\\b)?'
const VARYING = new RegExp(`(${ID}|${INSTANT}|${DISTANCE}|\\bvm-\\d+|\\b[\\d.]+\\b|\\s+)`)

/** Whether a job is seen before it runs, and what npm thinks of its own settings. */
const BY_CHANCE = /^QUEUED$|^npm warn/

/** Matches what was printed, and finds the ids in it. */
function patternOf(output: string): { readonly pattern: RegExp; readonly names: readonly string[] } {
  const names: string[] = []
  const matching = (part: string): string => {
    if (/^\s+$/.test(part)) return '\\s+'
    if (is(INSTANT, part)) return INSTANT
    if (is(DISTANCE, part)) return `(?:${DISTANCE})`
    if (part.startsWith('vm-')) return '\\S+'
    if (!is(ID, part)) return '[\\d.]+'
    const known = ids.get(part)
    if (known !== undefined) return known
    if (names.includes(part)) return `\\${names.indexOf(part) + 1}`
    names.push(part)
    return `(${ID})`
  }
  const parts = output.trimEnd().split(VARYING)
  const source = parts.map((part, index) => (index % 2 === 1 ? matching(part) : escaped(part)))
  return { pattern: new RegExp(`^${source.join('')}\\s*$`), names }
}

function is(pattern: string, text: string): boolean {
  return new RegExp(`^(?:${pattern})$`).test(text)
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

describe('docs/first-five-minutes.md', () => {
  it('has a step for each thing a new user does', () => {
    expect(steps.length).toBeGreaterThan(8)
  })

  it.each(steps.map((step) => [`line ${step.block.line}`, step] as const))(
    'works as printed, %s',
    { timeout: 60_000 },
    async (_, { block, exit, output }) => {
      const command = block.text.replace(new RegExp(ID, 'g'), (id) => ids.get(id) ?? id)
      const shell = startProgram('bash', ['-c', `{ ${command.trimEnd()}; } 2>&1`], ROOT, { PAWL_SERVER: url })
      expect({ exit: await shell.exited, stdout: shell.stdout }).toMatchObject({ exit })
      if (output === null) return
      const { pattern, names } = patternOf(output)
      const printed = shell.stdout.filter((line) => !BY_CHANCE.test(line)).join('\n')
      expect(printed).toMatch(pattern)
      const [, ...found] = pattern.exec(printed) ?? []
      names.forEach((name, index) => ids.set(name, found[index] ?? ''))
    },
  )
})
