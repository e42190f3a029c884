// The SQL function that accepts a job from any language: it makes the same jobs as the library.
import { createHash } from 'node:crypto'
import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { Client, type DatabaseError } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineJob, openScheduler, type Scheduler } from '../../src/index.ts'
import { postgres } from '../../src/stores/postgres/index.ts'
import { newSchema, postgresPool, postgresUrl } from './schemas.ts'

const jobs = [
  defineJob({ type: 'welcome', run: ({ params }) => ({ greeted: params }) }),
  defineJob({ type: 'train', resources: ['gpu'], retry: { maxRetries: 1 }, timeoutMs: 5_000, run: () => 'trained' }),
]

let schema: string
let scheduler: Scheduler
let client: Client

beforeAll(async () => {
  schema = newSchema()
  const store = postgres(postgresUrl(), { schema })
  scheduler = await openScheduler({ store, jobs, concurrency: 4, resources: { gpu: 1 } })
  client = new Client({ connectionString: postgresUrl() })
  await client.connect()
})

afterAll(async () => {
  await client.end()
  await scheduler.close()
})

/** `select pawl.enqueue(…)` with the given arguments. */
async function enqueue(args: string): Promise<string> {
  const { rows } = await client.query(`select "${schema}".enqueue(${args}) as job_id`)
  return rows[0].job_id
}

async function refusalOf(args: string): Promise<{ code: string | undefined; message: string }> {
  const { code, message } = await enqueue(args).then(
    () => new Error('accepted') as DatabaseError,
    (error: DatabaseError) => error,
  )
  return { code, message }
}

test('a type alone makes a job like the library’s', async () => {
  const jobId = await enqueue("'welcome'")
  const job = await scheduler.enqueue('welcome', {})
  const [bySql, byLibrary] = [await scheduler.getJob(jobId), await job.get()]
  const own = { jobId: '', chainId: '', position: 0, createdAt: 0, queuedAt: 0, runAt: 0 }
  expect({ ...bySql, ...own }).toEqual({ ...byLibrary, ...own })
  expect(jobId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(Math.abs(bySql.createdAt - Date.now())).toBeLessThan(60_000)
  expect(byLibrary.position).toBeGreaterThan(bySql.position)
})

test('every argument arrives', async () => {
  const jobId = await enqueue(
    `type => 'train', params => '{"epochs": 3}', priority => 7, run_at => '2999-01-01 00:00:00.5+00', name => 'night shift',
     tags => array['b', 'a', 'b'], business_key => 'model-7', idempotency_key => 'train-7', created_by => 'cron@db'`,
  )
  expect(await scheduler.getJob(jobId)).toMatchObject({
    type: 'train',
    status: 'QUEUED',
    hold: 'delayed',
    params: { epochs: 3 },
    priority: 7,
    runAt: Date.parse('2999-01-01T00:00:00.500Z'),
    name: 'night shift',
    tags: ['b', 'a', 'b'],
    businessKey: 'model-7',
    idempotencyKey: 'train-7',
    createdBy: 'cron@db',
    policy: { resources: ['gpu'], timeoutMs: 5_000, retry: { maxRetries: 1 } },
  })
  expect((await scheduler.listJobs({ tag: 'a' })).items.map((job) => job.jobId)).toEqual([jobId])
  await scheduler.cancel(jobId)
})

test('nothing is left of it after a rollback', async () => {
  await client.query('begin')
  const jobId = await enqueue("'welcome', idempotency_key => 'gone', business_key => 'gone'")
  await client.query('rollback')
  await expect(scheduler.getJob(jobId)).rejects.toMatchObject({ code: 'job_not_found' })
  expect((await scheduler.enqueue('welcome', {}, { idempotencyKey: 'gone', businessKey: 'gone' })).existed).toBe(false)
})

describe('keys', () => {
  test('the same idempotency key and request answers with the first job, whoever made it', async () => {
    const jobId = await enqueue(`'welcome', '{"b": 1, "a": [1.50, "ä"]}', idempotency_key => 'once'`)
    expect(await enqueue(`'welcome', '{"a": [1.5, "ä"], "b": 1.0}', idempotency_key => 'once'`)).toBe(jobId)
    const again = await scheduler.enqueue('welcome', { a: [1.5, 'ä'], b: 1 }, { idempotencyKey: 'once' })
    expect(again).toMatchObject({ jobId, existed: true })
    const first = await scheduler.enqueue('welcome', { z: null, y: 1e21 }, { idempotencyKey: 'library first' })
    expect(await enqueue(`'welcome', '{"y": 1e21, "z": null}', idempotency_key => 'library first'`)).toBe(first.jobId)
  })

  test('the same idempotency key with other params is refused', async () => {
    const jobId = await enqueue(`'welcome', '{"n": 1}', idempotency_key => 'reused'`)
    expect(await refusalOf(`'welcome', '{"n": 2}', idempotency_key => 'reused'`)).toEqual({
      code: '23505',
      message: `The idempotency key 'reused' was used for job ${jobId} with another type or other params. Use a new key.`,
    })
  })

  test('a business key is held until its chain has settled', async () => {
    const jobId = await enqueue("'welcome', business_key => 'held'")
    expect(await refusalOf("'welcome', business_key => 'held'")).toEqual({
      code: '23505',
      message: `The business key 'held' is held by job ${jobId}, which has not settled. Wait for it or cancel it.`,
    })
    await scheduler.cancel(jobId)
    expect(await enqueue("'welcome', business_key => 'held'")).not.toBe(jobId)
  })
})

test.each([
  ["'nonsense'", '22023', /^Expected a type that a scheduler on this store handles, got 'nonsense'\.$/],
  ['null', '22023', /got NULL\.$/],
  [`'welcome', to_jsonb(repeat('x', 262144))`, '54000', /^Expected params of at most 262144 bytes, got 262146\.$/],
  [
    `'welcome', '{"user": [1, {"id": 12345678901234567890}]}'`,
    '22003',
    /^Expected params\.user\.1\.id to be a number that a double keeps exactly, got 12345678901234567890, which would become 12345678901234567000\.$/,
  ],
  [
    `'welcome', '-9007199254740993.0'`,
    '22003',
    /^Expected params to .* got -9007199254740993, .* become -9007199254740992\.$/,
  ],
  [`'welcome', '[18446744073709551616]'`, '22003', /^Expected params\.0 to be /],
  [`'welcome', '[1e400]'`, '22003', /would become Infinity\.$/],
  [`'welcome', '[-1e400]'`, '22003', /would become -Infinity\.$/],
  ["'welcome', run_at => 'infinity'", '22023', /^Expected run_at between the years 1970 and 275760, got infinity\.$/],
  ["'welcome', run_at => '1969-12-31'", '22023', /^Expected run_at /],
  ["'welcome', name => ''", '22023', /^Expected name to be a text of 1 to 512 characters\.$/],
  ["'welcome', business_key => repeat('k', 513)", '22023', /^Expected business_key /],
  ["'welcome', tags => array['a', null]", '22023', /^Expected tags /],
  ["'welcome', tags => array_fill('t'::text, array[33])", '22023', /^Expected tags /],
])('enqueue(%s) is refused', async (args, code, message) => {
  const before = (await scheduler.statistics()).queue
  expect(await refusalOf(args)).toEqual({ code, message: expect.stringMatching(message) })
  expect((await scheduler.statistics()).queue).toEqual(before)
})

test('numbers that a double keeps, and fractions, are accepted, and the library reads them as they were given', async () => {
  const numbers = [9007199254740991, -9007199254740992, 1e21, 1e23, 1.7976931348623157e308, 0.1, Math.PI, 5e-324]
  const jobId = await enqueue(`'welcome', '${JSON.stringify([...numbers, '12345678901234567890'])}'`)
  expect((await scheduler.getJob(jobId)).params).toEqual([...numbers, '12345678901234567890'])
  const fraction = await enqueue(`'welcome', '[0.10000000000000001, 3.14159265358979323846]'`)
  expect((await scheduler.getJob(fraction)).params).toEqual([0.1, Math.PI])
})

test('a scheduler executes what it made, is woken by the commit, and everybody hears of it', async () => {
  const queued: string[] = []
  const stop = scheduler.on('job.queued', ({ jobId }) => queued.push(jobId))
  await scheduler.start()
  const jobId = await enqueue(`'welcome', '{"name": "Ada"}'`)
  const trained = await enqueue("'train'")
  expect(await scheduler.settled(jobId)).toMatchObject({ outcome: 'COMPLETED', result: { greeted: { name: 'Ada' } } })
  expect(await scheduler.settled(trained)).toMatchObject({ outcome: 'COMPLETED', result: 'trained' })
  await expect.poll(() => queued).toEqual(expect.arrayContaining([jobId, trained]))
  stop()
})

test('a role that may call it needs no other rights, and who may only read may not call it', async () => {
  const role = `${schema}_role`
  await client.query(`create role "${role}"; grant usage on schema "${schema}" to "${role}"`)
  try {
    await client.query(`set role "${role}"`)
    expect(await refusalOf("'welcome'")).toMatchObject({ code: '42501' })
    await client.query(`reset role; grant execute on function "${schema}".enqueue to "${role}"; set role "${role}"`)
    expect(await enqueue(`'welcome', '{"n": 0.1}', idempotency_key => 'of a role'`)).toMatch(/^[0-9a-f-]{36}$/)
    await expect(client.query(`select from "${schema}".jobs`)).rejects.toMatchObject({ code: '42501' })
  } finally {
    await client.query(`reset role; drop owned by "${role}"; drop role "${role}"`)
  }
})

/** The fewest digits of these lie in the middle between two doubles. PostgreSQL would not take them. */
const SHORTEST_IN_THE_MIDDLE = [
  -540000805211274400,
  1e23,
  -1e23,
  9007199254740996,
  2 ** 70,
  5e-324,
  1.7976931348623157e308,
]

test('its fingerprints are those of the library, for any params', async () => {
  const sql = `select encode(sha256(convert_to('["welcome",' || "${schema}".canonical_json($1::jsonb) || ']', 'UTF8')), 'hex') as hash`
  const text = fc.string({ unit: 'grapheme' }).filter((value) => !value.includes('\u0000'))
  const values = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, true, false),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.integer(),
      fc.maxSafeInteger(),
      text,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(text, tie('value'), { maxKeys: 4 }),
    ),
  })).value
  await fc.assert(
    fc.asyncProperty(values, async (params) => {
      const expected = createHash('sha256')
        .update(canonicalize(['welcome', params]) ?? '')
        .digest('hex')
      const { rows } = await postgresPool().query(sql, [JSON.stringify(params)])
      expect(rows[0].hash).toBe(expected)
    }),
    { numRuns: 500, examples: SHORTEST_IN_THE_MIDDLE.map((number): [unknown] => [number]) },
  )
})
