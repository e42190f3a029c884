import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { ErrorCode } from '../../src/domain/errors.ts'
import { PawlError } from '../../src/domain/errors.ts'
import { problemOf, STATUS, wirePath } from '../../src/http/problems.ts'
import { allEndpoints } from './api-stage.ts'

const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')

test('docs/errors.md says of each code which status it has', () => {
  const told = [...page.matchAll(/^### `([a-z_]+)`$[\s\S]*?^- \*\*HTTP\.\*\* (\w+)/gm)].map(([, code, status]) => [
    code,
    status,
  ])
  const real = Object.entries(STATUS).map(([code, status]) => {
    const isTold = status !== 500 || code === 'internal_error'
    return [code, isTold ? String(status) : 'never']
  })
  expect(told).toEqual(real.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1)))
})

test('every code of every endpoint has a status that a caller can be told', () => {
  for (const { problems } of allEndpoints) {
    for (const code of problems) expect(STATUS[code], code).toBeGreaterThanOrEqual(400)
  }
})

test('an error that is not ours tells nothing of the inside', () => {
  const error = new Error('SQLITE_ERROR: no such table at /home/ada/pawl.db')
  expect(JSON.stringify(problemOf(error))).not.toMatch(/SQLITE|ada/)
  const ours = new PawlError('database_corrupt', 'The file /home/ada/pawl.db is damaged.')
  expect(problemOf(ours)).toMatchObject({ status: 503, code: 'database_corrupt' })
  expect(JSON.stringify(problemOf(ours))).not.toContain('ada')
  const internal: ErrorCode = 'driver_missing'
  expect(problemOf(new PawlError(internal, 'x'))).toMatchObject({ status: 500, code: 'internal_error' })
})

test('what an operation quotes is cut, however long it was', () => {
  const told = problemOf(new PawlError('invalid_option', `Expected less, got \`${'x'.repeat(100_000)}\`.`))
  expect(told.detail).toMatch(/^Expected less, got/)
  expect(told.detail.length).toBeLessThanOrEqual(2_000)
})

test('what is missing is 404 in the path, and 422 in the body', () => {
  const missing = new PawlError('job_not_found', 'There is no job a.', { details: { jobId: 'a' } })
  expect(problemOf(missing, { ids: ['a'] }).status).toBe(404)
  expect(problemOf(missing, { ids: ['b'] }).status).toBe(422)
})

test.each([
  ['dependsOn.0', 'depends_on.0'],
  ['retry.backoff.baseMs', 'retry_policy.backoff.base_ms'],
  ['jobs.3.params.genreOf.someBody', 'jobs.3.params.genreOf.someBody'],
  ['jobs.3.overrides.aB', 'jobs.3.params.aB'],
  ['target.before', 'before'],
  ['runAt', 'run_at'],
])('the path %s is told as %s', (path, told) => {
  expect(wirePath(path)).toBe(told)
})

test('details keep clear of what problems have, and instants are texts', () => {
  const details = { type: 'story', status: 'RUNNING', startedAt: 0, jobId: 'a' }
  expect(problemOf(new PawlError('direct_failed', 'It failed.', { details }))).toMatchObject({
    type: 'urn:pawl:problem:direct_failed',
    status: 502,
    job_type: 'story',
    state: 'RUNNING',
    started_at: '1970-01-01T00:00:00.000Z',
    job_id: 'a',
  })
})
