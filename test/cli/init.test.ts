import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { Workspace } from '../docs/workspace.ts'
import { pawl, startPawl } from './serve-process.ts'

// `pawl init` in the folder of somebody who has just installed Pawl, with real processes.

const workspaces: Workspace[] = []

function newFolder(): Workspace {
  const workspace = new Workspace()
  workspaces.push(workspace)
  return workspace
}

afterEach(() => {
  for (const workspace of workspaces.splice(0)) workspace.remove()
})

/** What the next steps say: serve, enqueue, read the result. */
async function takeNextSteps(folder: string): Promise<void> {
  const server = startPawl(['serve', '--port', '0'], folder)
  await server.prints(/^Pawl is ready at .* \(sqlite pawl\.db, 1 job type\)$/)
  const done = await pawl(['enqueue', 'hello', '-p', 'name=Ada', '--wait', '--json'], folder)
  expect(done).toMatchObject({ exit: 0 })
  expect(done.stdout).toContain('Hello, Ada!')
  server.kill('SIGTERM')
  expect(await server.exited).toBe(0)
  expect(server.stderr).toEqual([])
}

test('it writes a configuration and a job in TypeScript that work as they are, and says what is next', async () => {
  const workspace = newFolder()
  const { folder } = workspace
  expect(await pawl(['init'], folder)).toEqual({
    exit: 0,
    stdout: [
      'Wrote pawl.config.ts and jobs/hello.ts.',
      '',
      'Next:',
      '  npx pawl serve                      # execute jobs, and serve the API at http://127.0.0.1:4747',
      '  npx pawl enqueue hello -p name=Ada  # in a second terminal: accept a job',
      '  npx pawl watch                      # in a third: see it run',
    ].join('\n'),
    stderr: '',
  })
  await takeNextSteps(folder)
  const wrong = await pawl(['enqueue', 'hello', '-p', 'name='], folder)
  expect(wrong).toMatchObject({ exit: 2, stdout: '' })
  expect(wrong.stderr).toContain('`params.name`')
  expect(workspace.compile()).toBe('')
})

test('without zod the example has no schema, and works too', async () => {
  const workspace = newFolder()
  rmSync(join(workspace.folder, 'node_modules', 'zod'))
  expect(await pawl(['init'], workspace.folder)).toMatchObject({ exit: 0 })
  expect(readFileSync(join(workspace.folder, 'jobs/hello.ts'), 'utf8')).not.toContain("from 'zod'")
  await takeNextSteps(workspace.folder)
  expect(workspace.compile()).toBe('')
})

test.each(['with zod', 'without zod'])('--js writes plain JavaScript, %s', async (which) => {
  const { folder } = newFolder()
  if (which === 'without zod') rmSync(join(folder, 'node_modules', 'zod'))
  const written = await pawl(['init', '--js', '--json'], folder)
  expect(written.exit).toBe(0)
  expect(JSON.parse(written.stdout)).toEqual({ written: ['pawl.config.mjs', 'jobs/hello.mjs'] })
  await takeNextSteps(folder)
})

test('it never overwrites, but by force', async () => {
  const { folder } = newFolder()
  expect(await pawl(['init'], folder)).toMatchObject({ exit: 0 })
  const config = join(folder, 'pawl.config.ts')
  const original = readFileSync(config, 'utf8')
  rmSync(config)
  const refused = await pawl(['init'], folder)
  expect(refused).toEqual({
    exit: 1,
    stdout: '',
    stderr: 'error: jobs/hello.ts is there already. Use --force to overwrite.',
  })
  expect(() => readFileSync(config)).toThrow('ENOENT')
  expect(await pawl(['init', '--force'], folder)).toMatchObject({ exit: 0 })
  expect(readFileSync(config, 'utf8')).toBe(original)

  const other = await pawl(['init', '--js', '--force'], folder)
  expect(other).toMatchObject({ exit: 1, stdout: '' })
  expect(other.stderr).toContain('There is a configuration already: pawl.config.ts.')
})

test('where a file has the name of the folder it says so, and leaves nothing behind', async () => {
  const { folder } = newFolder()
  writeFileSync(join(folder, 'jobs'), 'a list of jobs')
  const { exit, stderr } = await pawl(['init'], folder)
  expect(exit).toBe(1)
  expect(stderr).toBe('error: jobs is a file, but jobs/hello.ts needs a folder of that name. Move it away first.')
  expect(existsSync(join(folder, 'pawl.config.ts'))).toBe(false)
})

test('where Pawl is not installed it says so', async () => {
  const { folder } = newFolder()
  rmSync(join(folder, 'node_modules', 'pawl'))
  const { exit, stdout } = await pawl(['init'], folder)
  expect(exit).toBe(0)
  expect(stdout).toContain('They import pawl, which is not installed here: npm install pawl')
})
