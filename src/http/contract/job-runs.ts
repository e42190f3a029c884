import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { id, pageOf, pageQuery, pathId } from './fields.ts'
import { job, runStatus } from './job.ts'
import { RETRY_PROBLEMS, retryBody } from './retry.ts'
import { logLine, logQuery, output, outputQuery, run, runWithStack } from './run.ts'

const runPath = z.object({ run_id: pathId })

export const listRuns = endpoint({
  method: 'GET',
  path: '/api/job-runs',
  role: 'viewer',
  action: null,
  tag: 'Runs',
  summary: 'Runs, the latest first.',
  query: z.strictObject({
    ...pageQuery,
    status: runStatus.optional(),
    type: id.optional(),
    job_id: id.optional(),
  }),
  responses: { 200: pageOf(run) },
  problems: [],
})

export const getRun = endpoint({
  method: 'GET',
  path: '/api/job-runs/{run_id}',
  role: 'viewer',
  action: null,
  tag: 'Runs',
  summary: 'One Run.',
  params: runPath,
  responses: { 200: runWithStack },
  problems: ['run_not_found'],
})

export const retryRun = endpoint({
  method: 'POST',
  path: '/api/job-runs/{run_id}/retry',
  role: 'operator',
  action: 'job.retry',
  auditedFields: ['priority', 'dependents'],
  tag: 'Runs',
  summary: "Try the Run's chain again, if it was the last and failed.",
  params: runPath,
  body: retryBody,
  isBodyOptional: true,
  responses: { 201: job, 200: job },
  problems: ['run_not_found', ...RETRY_PROBLEMS],
  isVersioned: true,
})

export const readRunLogs = endpoint({
  method: 'GET',
  path: '/api/job-runs/{run_id}/logs',
  role: 'viewer',
  action: null,
  tag: 'Runs',
  summary: 'What the handler logged, in order.',
  params: runPath,
  query: logQuery,
  responses: { 200: pageOf(logLine) },
  problems: ['run_not_found'],
})

export const readRunOutput = endpoint({
  method: 'GET',
  path: '/api/job-runs/{run_id}/output',
  role: 'viewer',
  action: null,
  tag: 'Runs',
  summary: 'What the child process of a Run printed, from the byte `after` on. Command jobs say everything this way.',
  params: runPath,
  query: outputQuery,
  responses: { 200: output },
  problems: ['run_not_found'],
})
