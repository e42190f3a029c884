// Faults of code that is not ours, and outputs that take nothing: told in a line, with an exit code that is not 0.
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { select } from '../recovery/database.ts'
import { PAWL, Project, startProgram } from './serve-process.ts'

/** As Pawl chooses it: two copies of SQLite in one process must not open the same file. */
const library = Number(process.versions.node.split('.')[0]) >= 24 ? 'node:sqlite' : '@photostructure/sqlite'
const { DatabaseSync } = (await import(library)) as {
  DatabaseSync: new (path: string) => { exec(sql: string): void; close(): void }
}

const JOBS = `
import { setTimeout as sleep } from 'node:timers/promises'
import { defineConfig, defineJob } from 'pawl'

const quick = defineJob({ type: 'quick', run: () => { console.log('chatty handler') } })
const careless = defineJob({
  type: 'careless',
  run: async () => {
    void Promise.reject(new Error('nobody \\x1b[31mlistens'))
    await sleep(50)
    return 'done'
  },
})
`
const EXPORT = 'export default defineConfig({ jobs: [quick, careless] })\n'

test.each(['worker', 'serve'])(
  'a handler that leaves a rejection behind ends a %s in good order, with 1',
  async (command) => {
    const project = new Project(JOBS + EXPORT)
    await project.run('enqueue', 'careless')
    const node = project.start(command, ...(command === 'serve' ? ['--port', '0'] : []))
    expect(await node.exited).toBe(1)
    expect(node.stderr[0]).toBe('error: Something threw an error that nobody caught: nobody \\x1b[31mlistens')
    expect(node.stderr.join('\n')).not.toContain('    at ')
    expect(select(project.database, 'select job_type, status, outcome from pawl_jobs_readable')).toEqual([
      { job_type: 'careless', status: 'FINISHED', outcome: 'COMPLETED' },
    ])
  },
)

test('a configuration that throws later is told in a line, and with --verbose where', async () => {
  const project = new Project(
    `${JOBS}setImmediate(() => { throw new Error('too late') })\nawait sleep(1_000)\n${EXPORT}`,
  )
  const told = await project.run('enqueue', 'quick')
  expect(told).toMatchObject({ exit: 1, stdout: '' })
  expect(told.stderr).toBe('error: Something threw an error that nobody caught: too late')
  const verbose = await project.run('enqueue', 'quick', '--verbose')
  expect(verbose.stderr).toMatch(/too late\n(.*\n)* +at .*pawl\.config\.mjs/)
})

test('a configuration that never comes to its end is told, with 1', async () => {
  const project = new Project(`${JOBS}await new Promise(() => {})\n${EXPORT}`)
  const { exit, stdout, stderr } = await project.run('enqueue', 'quick')
  expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' })
  expect(stderr).toContain('error: The command waits for something that cannot come any more. Does the configuration')
})

test('the first interrupt ends a command whose configuration takes for ever', async () => {
  const project = new Project(`${JOBS}console.error('loading'); await sleep(600_000)\n${EXPORT}`)
  const waiting = project.start('enqueue', 'quick')
  await waiting.tells(/^loading$/)
  waiting.kill('SIGINT')
  expect(await waiting.exited).toBe(130)
})

test('the first interrupt ends a command that waits for a database in use', async () => {
  const project = new Project(`${JOBS}console.error('loaded')\n${EXPORT}`)
  await project.run('enqueue', 'quick')
  const holder = new DatabaseSync(project.database)
  holder.exec('begin immediate')
  const waiting = project.start('enqueue', 'quick')
  await waiting.tells(/^loaded$/)
  waiting.kill('SIGINT')
  expect(await waiting.exited).toBe(130)
  holder.exec('rollback')
  holder.close()
  expect(select(project.database, 'select count(*) as jobs from pawl_jobs')).toEqual([{ jobs: 1 }])
})

test('what a configuration prints goes to stderr with --json, so that stdout is one document', async () => {
  const project = new Project(`${JOBS}console.log('chatty'); console.info('very')\n${EXPORT}`)
  const { exit, stdout, stderr } = await project.run('enqueue', 'quick', '--json')
  expect(exit).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ job_type: 'quick' })
  expect(stderr).toBe('chatty\nvery')
  const once = await project.run('worker', '--once', '--json')
  expect(JSON.parse(once.stdout)).toMatchObject({ executed: 1 })
  expect(once.stderr).toContain('chatty handler')
})

test
  .runIf(existsSync('/dev/full'))
  .each([['jobs list --json'], ['jobs list'], ['keys create --name boss --role admin']])(
  '`pawl %s` on a full disk says that its output is lost, with 1',
  async (line) => {
    const project = new Project(JOBS + EXPORT)
    await project.run('enqueue', 'quick')
    const shell = `"${process.execPath}" "${PAWL}" ${line} > /dev/full`
    const full = startProgram('bash', ['-c', shell], project.folder)
    expect(await full.exited).toBe(1)
    expect(full.stderr).toEqual(['error: The output could not be written (ENOSPC).'])
  },
)
