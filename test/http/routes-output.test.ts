import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Client, clientOver } from '../../src/client/index.ts'
import { inProcessTransport } from '../../src/http/in-process.ts'
import { defineJob } from '../../src/library/define-job.ts'
import { openScheduler } from '../../src/library/open-scheduler.ts'
import type { Scheduler } from '../../src/library/scheduler.ts'
import { DOOR } from '../../src/operations/door.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { afterwards, refusalOf } from './api-stage.ts'

interface OpenRun {
  readonly client: Client
  readonly runId: string
  readonly jobId: string
}

/** A store in a folder of its own, with a Run that claims to have its output in the file that `place` makes. */
async function openRun(place: (logs: string, outside: string) => string): Promise<OpenRun> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-output-'))
  afterwards(async () => rmSync(folder, { recursive: true, force: true }))
  const noop = defineJob({ type: 'noop', run: () => null })
  const scheduler: Scheduler = await openScheduler({ store: sqlite(join(folder, 'pawl.db')), jobs: [noop] })
  afterwards(() => scheduler.close())
  const { context } = scheduler[DOOR]
  const logs = context.store.logDirectory ?? ''
  mkdirSync(logs, { recursive: true })
  const outside = join(folder, 'secret.txt')
  writeFileSync(outside, 'the secret')
  const { jobId } = await scheduler.enqueue('noop', null)
  // A node of its own holds the Run open, so that the path can be written as a node would.
  const nodeId = context.newId()
  await context.store.registerNode({
    nodeId,
    name: 'n',
    host: 'h',
    pid: 1,
    types: ['noop'],
    concurrency: 1,
    startedAt: 0,
    claims: true,
  })
  const { jobs } = await context.store.claimJobs({
    nodeId,
    now: context.clock.now(),
    limit: 1,
    types: new Map([['noop', 1]]),
    newRunId: context.newId,
  })
  const [claimed] = jobs
  if (claimed === undefined || claimed.claim.jobId !== jobId) throw new Error('nothing was claimed')
  const child = { pid: 1, startTime: '1', host: 'h', bootId: 'b', pidNamespace: 'n' }
  await context.store.recordChild(claimed.claim, child, place(logs, outside))
  const client = clientOver(inProcessTransport(scheduler[DOOR], { name: 'cli:ada', role: 'admin' }))
  return { client, runId: claimed.claim.runId, jobId }
}

function inLogs(text: string | Buffer) {
  return (logs: string) => {
    writeFileSync(join(logs, 'run.log'), text)
    return join(logs, 'run.log')
  }
}

test('what a child printed is read a part at a time, without cutting characters', async () => {
  const { client, runId } = await openRun(inLogs('añ€😀z'))
  const parts: string[] = []
  let after = 0
  for (;;) {
    const part = await client.runs.output(runId, { after, limit: 4 })
    expect(part.size_bytes).toBe(11)
    if (part.next_after === after) break
    parts.push(part.text)
    after = part.next_after
  }
  expect(parts).toEqual(['añ', '€', '😀', 'z'])
  expect(await client.runs.output(runId)).toEqual({ text: 'añ€😀z', next_after: 11, size_bytes: 11 })
})

test('bytes that are no text do not stop anybody', async () => {
  const { client, runId } = await openRun(inLogs(Buffer.from([0xff, 0xfe, 0x80, 0x80, 0x80, 0x80, 0xf0])))
  let after = 0
  for (let count = 0; count < 10; count++) after = (await client.runs.output(runId, { after, limit: 4 })).next_after
  expect(after).toBeGreaterThanOrEqual(6)
})

test.each([
  ['outside of the folder', (_: string, outside: string) => outside],
  ['that climbs out of the folder', (logs: string) => join(logs, '..', 'secret.txt')],
  ['of the system', () => '/etc/passwd'],
  ['that is no plain file', () => '/dev/zero'],
  ['that is not there', (logs: string) => join(logs, 'gone.log')],
  [
    'that is a link out of the folder',
    (logs: string, outside: string) => {
      symlinkSync(outside, join(logs, 'link.log'))
      return join(logs, 'link.log')
    },
  ],
  [
    'that is a link within the folder',
    (logs: string) => {
      writeFileSync(join(logs, 'other.log'), 'another run')
      symlinkSync(join(logs, 'other.log'), join(logs, 'link.log'))
      return join(logs, 'link.log')
    },
  ],
])('a path %s is never opened, whoever wrote it into the database', async (_, place) => {
  const { client, runId } = await openRun(place)
  expect(await client.runs.output(runId)).toEqual({ text: '', next_after: 0, size_bytes: 0 })
})

test('limits are refused as elsewhere', async () => {
  const { client, runId } = await openRun(inLogs('x'))
  expect(await refusalOf(client.runs.output(runId, { limit: 1 }))).toMatchObject({ status: 422, path: 'limit' })
  expect(await refusalOf(client.runs.output('nope'))).toEqual({ status: 404, code: 'run_not_found' })
})

test('the output of a Job is that of its Run', async () => {
  const { client, jobId, runId } = await openRun(inLogs('once upon a time'))
  expect(await client.jobs.output(jobId, { after: 5 })).toEqual(await client.runs.output(runId, { after: 5 }))
  const { job_id } = await client.jobs.enqueue({ type: 'noop' })
  expect(await client.jobs.output(job_id)).toEqual({ text: '', next_after: 0, size_bytes: 0 })
  expect(await refusalOf(client.jobs.output('nope'))).toEqual({ status: 404, code: 'job_not_found' })
})
