import { wireRun } from '../../domain/wire.ts'
import * as history from '../../operations/read-history.ts'
import { retryJob } from '../../operations/retry-job.ts'
import * as contract from '../contract/job-runs.ts'
import { ok } from './answer.ts'
import { given } from './given.ts'
import { type Route, route } from './handler.ts'
import { okRetry } from './job-answers.ts'
import { okPage, pageOptions } from './pages.ts'
import { okLogs } from './run-logs.ts'
import { okOutput } from './run-output.ts'

export const runRoutes: readonly Route[] = [
  route(contract.listRuns, async ({ context, query }) => {
    const { status, type, job_id } = query
    const filter = given({ status, type, jobId: job_id })
    return okPage(await history.listRuns(context, { ...pageOptions(query), ...filter }), wireRun)
  }),

  route(contract.getRun, async ({ context, params }) => {
    const run = await history.getRun(context, params.run_id)
    return ok({ ...wireRun(run), stack: run.stack })
  }),

  route(contract.retryRun, async ({ context, params, body }) => {
    const { kind, jobId } = await retryJob(context, { runId: params.run_id }, given(body))
    return okRetry(kind, await history.getJob(context, jobId))
  }),

  route(contract.readRunOutput, ({ context, params, query }) => okOutput(context, params.run_id, query)),

  route(contract.readRunLogs, ({ context, params, query }) => okLogs(context, params.run_id, query)),
]
