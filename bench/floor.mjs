import { V7Generator } from 'uuidv7'
import { openWithPragmas } from './driver.mjs'

// A queue that keeps what Pawl keeps of a no-op Job: the Job and its Run, each with a UUID, times and outcome. One index
// for the claim, no events, no occupancies, no limits, no fences.
const SCHEMA = `
create table jobs (
  id text primary key,
  type text not null,
  status text not null,
  priority integer not null,
  position integer not null,
  created_at integer not null,
  started_at integer,
  finished_at integer,
  params text not null
) strict;
create index jobs_queued on jobs (priority desc, position) where status = 'QUEUED';
create table runs (
  id text primary key,
  job_id text not null,
  status text,
  started_at integer not null,
  finished_at integer,
  result text
) strict;`

const INSERT_JOB = `
insert into jobs (id, type, status, priority, position, created_at, params)
values (?, 'noop', 'QUEUED', 0, ?, ?, ?)`

const START_JOB = "update jobs set status = 'RUNNING', started_at = ? where rowid = ?"
const INSERT_RUN = 'insert into runs (id, job_id, started_at) values (?, ?, ?)'
const END_RUN = "update runs set status = 'COMPLETED', finished_at = ?, result = ? where rowid = ?"
const END_JOB = "update jobs set status = 'FINISHED', finished_at = ? where rowid = ?"

const ids = new V7Generator()

/** The least SQL that does the same durable work, through the same driver. It makes its ids outside the measured time. */
export class Floor {
  #database
  #statements
  #position = 0
  #spareIds = []
  #idsTaken = 0

  constructor(path) {
    this.#database = openWithPragmas(path)
    this.#database.exec(SCHEMA)
    this.#statements = {
      insertJob: this.#database.prepare(INSERT_JOB),
      startJob: this.#database.prepare(START_JOB),
      insertRun: this.#database.prepare(INSERT_RUN),
      endRun: this.#database.prepare(END_RUN),
      endJob: this.#database.prepare(END_JOB),
      selectNext: new Map(),
    }
  }

  /** Makes ids now, so that the measured part need not. */
  prepareIds(count) {
    this.#spareIds = this.#spareIds.slice(this.#idsTaken)
    this.#idsTaken = 0
    for (let made = 0; made < count; made++) this.#spareIds.push(ids.generate().toString())
  }

  insert(count, perCommit) {
    for (let inserted = 0; inserted < count; inserted += perCommit) {
      this.#database.exec('begin immediate')
      const now = Date.now()
      for (let index = 0; index < Math.min(perCommit, count - inserted); index++) {
        this.#position += 100
        this.#statements.insertJob.run(this.#takeId(), this.#position, now, `{"n":${index}}`)
      }
      this.#database.exec('commit')
    }
  }

  /** Claims in a commit of its own. Returns what it holds now. */
  claim(limit) {
    this.#database.exec('begin immediate')
    const held = this.#claim(limit, Date.now())
    this.#database.exec('commit')
    return held
  }

  finish(held) {
    this.#database.exec('begin immediate')
    this.#finish(held, Date.now())
    this.#database.exec('commit')
  }

  /** Finishes what is held and claims the next in the same commit: the fewest commits there can be. */
  finishAndClaim(held, limit) {
    this.#database.exec('begin immediate')
    const now = Date.now()
    this.#finish(held, now)
    const next = this.#claim(limit, now)
    this.#database.exec('commit')
    return next
  }

  close() {
    this.#database.close()
  }

  #claim(limit, now) {
    const held = []
    for (const { rowid, id } of this.#selectNext(limit).all()) {
      this.#statements.startJob.run(now, rowid)
      const { lastInsertRowid } = this.#statements.insertRun.run(this.#takeId(), id, now)
      held.push({ jobRowid: rowid, runRowid: lastInsertRowid })
    }
    return held
  }

  #finish(held, now) {
    for (const { jobRowid, runRowid } of held) {
      this.#statements.endRun.run(now, null, runRowid)
      this.#statements.endJob.run(now, jobRowid)
    }
  }

  /** In the order they were made: an index grows fastest at its end. */
  #takeId() {
    return this.#spareIds[this.#idsTaken++]
  }

  #selectNext(limit) {
    let statement = this.#statements.selectNext.get(limit)
    if (statement === undefined) {
      statement = this.#database.prepare(
        `select rowid, id, params from jobs where status = 'QUEUED' order by priority desc, position limit ${limit}`,
      )
      this.#statements.selectNext.set(limit, statement)
    }
    return statement
  }
}
