import pg from 'pg'
import { V7Generator } from 'uuidv7'

// A queue that keeps what Pawl keeps of a no-op Job: the Job and its Run, each with a UUID, times and outcome. One index
// for the claim, no events, no occupancies, no limits, no fences.
const SCHEMA = (schema) => `
create schema ${schema};
create table ${schema}.jobs (
  id text collate "C" primary key,
  type text not null,
  status text not null,
  priority integer not null,
  position bigint generated always as identity,
  created_at bigint not null,
  started_at bigint,
  finished_at bigint,
  params text not null
);
create index jobs_queued on ${schema}.jobs (priority desc, position) where status = 'QUEUED';
create table ${schema}.runs (
  id text collate "C" primary key,
  job_id text collate "C" not null,
  status text,
  started_at bigint not null,
  finished_at bigint,
  result text
);`

const INSERT = (schema) => `
insert into ${schema}.jobs (id, type, status, priority, created_at, params)
select id, 'noop', 'QUEUED', 0, $1, params
from unnest($2::text[], $3::text[]) as given (id, params)`

const INSERT_ONE = (schema) => `
insert into ${schema}.jobs (id, type, status, priority, created_at, params)
values ($1, 'noop', 'QUEUED', 0, $2, $3)`

// The number of rows is written into the text: PostgreSQL plans badly for one that it learns late.
const CLAIM = (schema, limit) => `
with next as materialized (
  select id, params
  from ${schema}.jobs
  where status = 'QUEUED'
  order by priority desc, position
  limit ${limit}
  for update skip locked
),
started as (
  update ${schema}.jobs j
  set status = 'RUNNING', started_at = $1
  from next
  where j.id = next.id
),
numbered as (
  select id, params, row_number() over () as place from next
),
executed as (
  insert into ${schema}.runs (id, job_id, started_at)
  select ($2::text[])[place], id, $1
  from numbered
)
select id, ($2::text[])[place] as run_id, params from numbered`

const FINISH = (schema) => `
with given as (
  select * from unnest($2::text[], $3::text[]) as given (job_id, run_id)
),
ended as (
  update ${schema}.runs r
  set status = 'COMPLETED', finished_at = $1
  from given
  where r.id = given.run_id
)
update ${schema}.jobs j
set status = 'FINISHED', finished_at = $1
from given
where j.id = given.job_id`

const ids = new V7Generator()

/** The least SQL that does the same durable work, through the same driver. It makes its ids outside the measured time. */
export class PostgresFloor {
  #client
  #schema
  #spareIds = []

  static async open(url, schema) {
    const client = new pg.Client({ connectionString: url, pipeline: true })
    await client.connect()
    await client.query(SCHEMA(schema))
    // A statement is planned once; on a table that is empty at that moment it would be planned for an empty one.
    await client.query('set enable_seqscan = off; set enable_hashjoin = off; set enable_mergejoin = off; set jit = off')
    return new PostgresFloor(client, schema)
  }

  constructor(client, schema) {
    this.#client = client
    this.#schema = schema
  }

  prepareIds(count) {
    while (this.#spareIds.length < count) this.#spareIds.push(ids.generate().toString())
  }

  async insert(count, perCommit) {
    for (let inserted = 0; inserted < count; inserted += perCommit) {
      const taken = this.#spareIds.splice(0, Math.min(perCommit, count - inserted))
      const [only] = taken
      if (perCommit === 1) await this.#run('one', INSERT_ONE(this.#schema), [only, Date.now(), '{"n":0}'])
      else await this.#run('insert', INSERT(this.#schema), [Date.now(), taken, taken.map((_, n) => `{"n":${n}}`)])
    }
  }

  /** Claims in a commit of its own. Returns what it holds now. */
  async claim(limit) {
    const runIds = this.#spareIds.splice(0, limit)
    return (await this.#run(`claim${limit}`, CLAIM(this.#schema, limit), [Date.now(), runIds])).rows
  }

  finish(held) {
    return this.#run('finish', FINISH(this.#schema), [
      Date.now(),
      held.map(({ id }) => id),
      held.map(({ run_id }) => run_id),
    ])
  }

  /** Finishes what is held and claims the next in the same commit, in one round trip: the fewest there can be. */
  async finishAndClaim(held, limit) {
    const [, , next] = await Promise.all([
      this.#client.query('begin'),
      this.finish(held),
      this.claim(limit),
      this.#client.query('commit'),
    ])
    return next
  }

  vacuum() {
    return this.#client.query(`vacuum analyze ${this.#schema}.jobs, ${this.#schema}.runs`)
  }

  close() {
    return this.#client.end()
  }

  #run(name, text, values) {
    return this.#client.query({ name, text, values })
  }
}
