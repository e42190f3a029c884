// What only makes sense on a store: migrate, backup, doctor.
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { kernel } from '../../src/stores/sqlite/migrations/0001-kernel.ts'
import { withHandle } from '../sqlite/stage.ts'
import { enqueue, newFolder, openTarget, pawl, writeInto } from './cli-stage.ts'

/** A database as the first version of the schema made it, empty. */
function makeVersion1(path: string): void {
  withHandle(path, (handle) => {
    handle.exec(kernel.sql)
    handle.exec(`
create table if not exists pawl_migrations (
  version integer primary key,
  name text not null,
  checksum text not null,
  applied_at integer not null
) strict`)
    const checksum = createHash('sha256').update(`1 kernel\n${kernel.sql}`).digest('hex')
    handle.prepare('insert into pawl_migrations values (1, ?, ?, 0)').run('kernel', checksum)
    handle.exec('pragma application_id = 1348564844; pragma user_version = 1')
  })
}

describe('a store of an older version', () => {
  test('is not touched by doctor and --dry-run, which say what is to be done', async () => {
    const folder = newFolder()
    makeVersion1(join(folder, 'pawl.db'))
    const before = readFileSync(join(folder, 'pawl.db'))
    for (const argv of [['doctor'], ['doctor', '--fix']]) {
      const { exitCode, stdout } = await pawl(argv, { cwd: folder })
      expect(exitCode).toBe(1)
      expect(stdout).toMatch(/fault +schema [^]*version 1[^]*`pawl migrate`/)
    }
    const dry = await pawl(['migrate', '--dry-run'], { cwd: folder })
    expect(dry.stdout).toMatch(
      /version before +1\n {2}would become +\d+\n {2}pending +triggers-and-composition, doors\b/,
    )
    expect(readFileSync(join(folder, 'pawl.db'))).toEqual(before)
    expect(readdirSync(folder)).toEqual(['pawl.db'])
  })

  test.each([[['jobs', 'list']], [['types']], [['status']], [['backup', 'copy.db']]])(
    'is not migrated by what only reads: `pawl %j` says what to do',
    async (argv) => {
      const folder = newFolder()
      makeVersion1(join(folder, 'pawl.db'))
      const before = readFileSync(join(folder, 'pawl.db'))
      const { exitCode, stderr } = await pawl(argv, { cwd: folder })
      expect(exitCode).toBe(1)
      expect(stderr).toMatch(/pawl\.db has schema version 1, this Pawl works with \d+: run `pawl migrate`\./)
      expect(readFileSync(join(folder, 'pawl.db'))).toEqual(before)
      expect(readdirSync(folder)).toEqual(['pawl.db'])
    },
  )

  test('is migrated by whatever changes it', async () => {
    const folder = newFolder()
    makeVersion1(join(folder, 'pawl.db'))
    expect((await pawl(['limits', 'set', 'resource:pen', '2'], { cwd: folder })).exitCode).toBe(0)
    expect((await pawl(['migrate'], { cwd: folder })).stdout).toMatch(/^The schema is up to date/)
    const examined = await pawl(['doctor'], { cwd: folder })
    expect(examined.stdout).not.toContain('fault  ')
    expect(examined.exitCode).toBe(0)
  })
})

describe('migrate', () => {
  test('makes a store, says what was done, and then that there is nothing to do', async () => {
    const folder = newFolder()
    const dry = await pawl(['migrate', '--dry-run'], { cwd: folder })
    expect(dry.stdout).toMatch(/^Would be migrated: the store sqlite:pawl\.db\n {2}version before +none/)
    expect(readdirSync(folder)).toEqual([])
    const first = await pawl(['migrate', '--json'], { cwd: folder })
    const answer = JSON.parse(first.stdout) as { version_after: number; applied: string[] }
    expect(answer).toMatchObject({ dry_run: false, version_before: null, applied: expect.arrayContaining(['kernel']) })
    expect(answer.version_after).toBe(answer.applied.length)
    expect(statSync(join(folder, 'pawl.db')).mode & 0o777).toBe(0o600)
    const again = await pawl(['migrate'], { cwd: folder })
    expect(again.exitCode).toBe(0)
    expect(again.stdout).toMatch(/^The schema is up to date: .*\n[^]*applied +nothing\n$/)
  })

  test('refuses what another program made, or a newer Pawl', async () => {
    const folder = newFolder()
    writeInto(folder, 'other.db', 'not a database at all, only text that is long enough')
    const foreign = await pawl(['migrate', '--store', 'other.db'], { cwd: folder })
    expect(foreign.exitCode).toBe(1)
    expect(readFileSync(join(folder, 'other.db'), 'utf8')).toMatch(/^not a database/)
    await pawl(['migrate'], { cwd: folder })
    withHandle(join(folder, 'pawl.db'), (handle) => {
      handle.exec("insert into pawl_migrations (version, name, checksum, applied_at) values (999, 'later', 'x', 0)")
      handle.exec('pragma user_version = 999')
    })
    for (const argv of [['migrate'], ['migrate', '--dry-run'], ['jobs', 'list'], ['doctor']]) {
      const { exitCode, stderr } = await pawl(argv, { cwd: folder })
      expect({ argv, exitCode }).toEqual({ argv, exitCode: 1 })
      expect(stderr).toContain('999')
    }
  })
})

describe('backup', () => {
  test('writes a whole store to a new file, and overwrites nothing', async () => {
    const on = await openTarget('store')
    const job = await enqueue(on, 'story')
    const { exitCode, stdout } = await on.pawl('backup', 'copy.db')
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'Copied the store sqlite:pawl.db to copy.db.\n' })
    const copied = await pawl(['jobs', 'show', job, '--store', 'copy.db'], { cwd: on.folder })
    expect(copied.exitCode).toBe(0)
    const before = readFileSync(join(on.folder, 'copy.db'))
    const again = await on.pawl('backup', 'copy.db')
    expect(again.exitCode).toBe(1)
    expect(again.stderr).toContain('is not overwritten')
    expect(readFileSync(join(on.folder, 'copy.db'))).toEqual(before)
    expect(JSON.parse((await on.pawl('backup', 'more.db', '--json')).stdout)).toEqual({
      file: join(on.folder, 'more.db'),
    })
  })

  test('into a folder that is not there fails in a sentence', async () => {
    const on = await openTarget('store')
    const { exitCode, stderr } = await on.pawl('backup', 'nowhere/copy.db')
    expect(exitCode).toBe(1)
    expect(stderr).toMatch(/^error: .*nowhere/)
    expect(existsSync(join(on.folder, 'nowhere'))).toBe(false)
  })
})

describe('doctor', () => {
  test('finds a store well, lists what it looked at, and exits with 0', async () => {
    const on = await openTarget('store')
    await on.scheduler.start()
    await on.scheduler.settled(await enqueue(on, 'story'))
    const { exitCode, stdout } = await on.pawl('doctor')
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^Examined the store sqlite:pawl\.db\n {2}ok +I3 /)
    expect(stdout).toMatch(/Everything is well\.\n$/)
    expect(await on.json('doctor')).toMatchObject({
      ok: true,
      checks: expect.arrayContaining([expect.objectContaining({ id: 'I17', status: 'ok' })]),
    })
  })

  test('finds a fault, exits with 1, changes nothing; with --fix it repairs what it can', async () => {
    const folder = newFolder()
    await pawl(['migrate'], { cwd: folder })
    writeInto(folder, 'pawl.config.mjs', 'export default { jobs: [] }')
    const path = join(folder, 'pawl.db')
    {
      const on = await openTarget('store')
      await enqueue(on, 'story', '--tag', 'nightly')
      await on.pawl('backup', 'copy.db')
      copyFileSync(join(on.folder, 'copy.db'), path)
    }
    withHandle(path, (handle) => handle.exec('delete from pawl_job_tags'))
    const found = await pawl(['doctor'], { cwd: folder })
    expect(found.exitCode).toBe(1)
    expect(found.stdout).toMatch(/fault +tags /)
    expect(found.stdout).toMatch(/checks found faults\.\n$/)
    expect((await pawl(['doctor', '--json'], { cwd: folder })).exitCode).toBe(1)
    const fixed = await pawl(['doctor', '--fix', '--json'], { cwd: folder })
    expect(fixed.exitCode).toBe(0)
    expect(JSON.parse(fixed.stdout)).toMatchObject({ ok: true, repairs: [{ remedy: 'tags', count: 1 }] })
    expect((await pawl(['doctor'], { cwd: folder })).exitCode).toBe(0)
  })
})
