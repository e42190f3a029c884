import { copyFileSync, existsSync, readFileSync, statSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import type { Chance } from '../chance.ts'
import { jobTypes, RESOURCES } from '../power/job-types.ts'
import { openDatabase } from './open-database.ts'

/** What may happen to a file while nobody has it open. */
export const DAMAGES = [
  'some bytes are other ones',
  'pages are zeros',
  'pages are noise',
  'pages have changed places',
  'the end is missing',
  'the header is other',
  'it is another file altogether',
  'it is empty',
  'the log is noise',
  'some bytes of the log are other ones',
  'the end of the log is missing',
  'the log belongs to another database',
  'a journal of noise lies beside it',
  'another program made it',
  'a newer Pawl made it',
] as const

export type Damage = (typeof DAMAGES)[number]

/** Sound databases, to be copied: one that was closed in good order, and one that was left with its log. */
export interface Originals {
  readonly closed: string
  readonly withLog: string
  /** The params of each Job, as JSON text. */
  readonly params: ReadonlyMap<string, string>
}

const PAGE = 4_096
const JOBS = 120

export async function makeOriginals(folder: string): Promise<Originals> {
  const closed = join(folder, 'closed.db')
  const withLog = join(folder, 'with-log.db')
  const types = jobTypes({ began: () => {}, asked: () => {}, wait: async () => {} })
  const scheduler = await openScheduler({ store: sqlite(closed), jobs: types, resources: RESOURCES, concurrency: 4 })
  const params = new Map<string, string>()
  const jobs = Array.from({ length: JOBS }, (_, index) => ({
    type: index % 5 === 0 ? 'limited' : 'plain',
    // Some need pages of their own.
    params: { n: index + 1, does: index % 7 === 0 ? 'refuses' : 'completes', ballast: 'b'.repeat((index % 6) * 900) },
  }))
  const half = JOBS / 2
  const handles = await scheduler.enqueueMany(jobs.slice(0, half))
  await scheduler.schedules.create({
    name: 'rare',
    type: 'plain',
    cron: '@yearly',
    paramOverrides: { n: 0, does: 'completes' },
  })
  await scheduler.webhooks.create({ url: 'http://192.0.2.1/', jobTypes: ['limited'] }).catch(() => {})
  await scheduler.start()
  await Promise.all(handles.map((handle) => handle.settled()))
  await scheduler.stop()
  const group = await scheduler.groups.create({ name: 'batch', jobs: jobs.slice(half, half + 5) })
  handles.push(...(await scheduler.enqueueMany(jobs.slice(half + 5))))
  for (const [index, { jobId }] of [...handles.slice(0, half), ...group.jobs, ...handles.slice(half)].entries()) {
    params.set(jobId, JSON.stringify(jobs[index]?.params))
  }
  copyFileSync(closed, withLog)
  copyFileSync(`${closed}-wal`, `${withLog}-wal`)
  await scheduler.close()
  return { closed, withLog, params }
}

/** Makes a damaged copy at `path`. */
export async function makeDamaged(damage: Damage, originals: Originals, path: string, chance: Chance): Promise<void> {
  const hasLog = damage.includes('log') || chance.is(0.3)
  copyFileSync(hasLog ? originals.withLog : originals.closed, path)
  if (hasLog) copyFileSync(`${originals.withLog}-wal`, `${path}-wal`)
  const log = `${path}-wal`
  switch (damage) {
    case 'some bytes are other ones':
      return change(path, (bytes) => flip(bytes, chance, chance.of([1, 20, 400])))
    case 'pages are zeros':
      return change(path, (bytes) => eachPage(bytes, chance, (page) => page.fill(0)))
    case 'pages are noise':
      return change(path, (bytes) => eachPage(bytes, chance, (page) => fillWithNoise(page, chance)))
    case 'pages have changed places':
      return change(path, (bytes) => swapPages(bytes, chance))
    case 'the end is missing':
      return truncateSync(path, chance.below(statSync(path).size))
    case 'the header is other':
      return change(path, (bytes) => flip(bytes.subarray(0, 100), chance, chance.between(1, 30)))
    case 'it is another file altogether':
      if (hasLog) unlinkSync(log)
      return writeFileSync(path, noise(chance.between(1, 100_000), chance))
    case 'it is empty':
      if (hasLog) unlinkSync(log)
      return writeFileSync(path, '')
    case 'the log is noise':
      return writeFileSync(log, noise(statSync(log).size, chance))
    case 'some bytes of the log are other ones':
      return change(log, (bytes) => flip(bytes, chance, chance.of([1, 20, 400])))
    case 'the end of the log is missing':
      return truncateSync(log, chance.below(statSync(log).size))
    case 'the log belongs to another database':
      copyFileSync(originals.closed, path)
      return
    case 'a journal of noise lies beside it':
      if (existsSync(log)) unlinkSync(log)
      return writeFileSync(`${path}-journal`, journalOfNoise(chance))
    case 'another program made it':
      return change(path, (bytes) => void bytes.writeUInt32BE(chance.below(0x7fffffff), 68), log)
    case 'a newer Pawl made it':
      return addMigration(path, chance)
  }
}

/** Rewrites a file. A log beside it would bring back what it says, so it may have to go. */
function change(path: string, by: (bytes: Buffer) => void, log?: string): void {
  const bytes = readFileSync(path)
  by(bytes)
  writeFileSync(path, bytes)
  if (log !== undefined && existsSync(log)) unlinkSync(log)
}

function flip(bytes: Buffer, chance: Chance, count: number): void {
  for (let left = count; left > 0; left--) bytes[chance.below(bytes.length)] = chance.below(256)
}

function eachPage(bytes: Buffer, chance: Chance, by: (page: Buffer) => void): void {
  const pages = Math.floor(bytes.length / PAGE)
  for (let left = chance.of([1, 3, 20]); left > 0; left--) {
    const start = chance.below(pages) * PAGE
    by(bytes.subarray(start, start + PAGE))
  }
}

function swapPages(bytes: Buffer, chance: Chance): void {
  const pages = Math.floor(bytes.length / PAGE)
  for (let left = chance.of([1, 5]); left > 0; left--) {
    const [a, b] = [chance.between(1, pages - 1) * PAGE, chance.between(1, pages - 1) * PAGE]
    const kept = Buffer.from(bytes.subarray(a, a + PAGE))
    bytes.copyWithin(a, b, b + PAGE)
    kept.copy(bytes, b)
  }
}

function fillWithNoise(bytes: Buffer, chance: Chance): Buffer {
  for (let at = 0; at < bytes.length; at++) bytes[at] = chance.below(256)
  return bytes
}

function noise(size: number, chance: Chance): Buffer {
  return fillWithNoise(Buffer.alloc(size), chance)
}

/** It begins as a journal does that wants to be played back. */
function journalOfNoise(chance: Chance): Buffer {
  const journal = noise(chance.between(512, 20_000), chance)
  if (chance.is(0.7)) Buffer.from('d9d505f920a163d7', 'hex').copy(journal)
  return journal
}

async function addMigration(path: string, chance: Chance): Promise<void> {
  const database = await openDatabase(path)
  const version = chance.between(90, 99)
  database.exec(`insert into pawl_migrations values (${version}, 'of-the-future', 'x', 0)`)
  database.exec(`pragma user_version = ${version}`)
  database.exec('pragma wal_checkpoint(truncate)')
  database.close()
}
