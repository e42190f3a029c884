// Turns the events of the scheduler into lines. They come from the store, so those of the other process are among them.
import { cyan, green, red, seconds, yellow } from './terminal.mjs'

/** Tells the view what happens. `say` adds a line in its turn; `told` resolves when everything has been told. */
export function report(scheduler, view, nameOfNode) {
  // Some lines need a look into the history. One after the other, so that they stay in the order of the events.
  let told = Promise.resolve()
  const tell = (work) => {
    told = told.then(work).catch((error) => view.line(red('!'), `The demo could not look that up: ${error.message}`))
  }

  scheduler.on('job.started', (event) => tell(() => started(scheduler, view, nameOfNode, event)))
  scheduler.on('run.progress', ({ runId, progress, message }) => tell(() => view.moved(runId, progress, message)))
  scheduler.on('job.finished', (event) => tell(() => finished(scheduler, view, event)))
  scheduler.on('job.cancelled', (event) => tell(() => cancelled(scheduler, view, event)))
  return { say: (symbol, text) => tell(() => view.line(symbol, text)), told: () => told }
}

async function started(scheduler, view, nameOfNode, { jobId, runId, attempt }) {
  const label = await labelOf(scheduler, jobId)
  const run = await scheduler.getRun(runId)
  const where = nameOfNode(run.nodeId)
  // It may have ended before we looked.
  if (run.status === null) view.began(runId, label, where)
  const place = where === '' ? '' : ` in ${where}`
  view.line(cyan('▶'), `${label} starts${place}${attempt > 1 ? `, attempt ${attempt}` : ''}`)
}

async function finished(scheduler, view, { jobId, runId, outcome, reason }) {
  const label = await labelOf(scheduler, jobId)
  const run = await scheduler.getRun(runId)
  view.ended(runId)
  if (outcome === 'COMPLETED') view.line(green('✔'), `${label} completed in ${seconds(run.durationMs)}`)
  else if (outcome === 'SKIPPED') view.line(yellow('–'), `${label} was skipped: ${run.error}`)
  else view.line(red('✖'), `${label} failed: ${failure(reason, run)}. ${await whatFollows(scheduler, run)}`)
}

function failure(reason, run) {
  if (reason === 'timeout') return `timeout after ${seconds(run.durationMs)}`
  return reason === 'error' ? firstLine(run.error) : reason
}

async function whatFollows(scheduler, run) {
  if (!run.willRetry) return 'No retry'
  const retry = (await scheduler.getChain(run.jobId)).items.find(({ retryOf }) => retryOf === run.jobId)
  const delayMs = retry.runAt - run.finishedAt
  return `Attempt ${retry.attempt} ${delayMs === 0 ? 'follows at once' : `in ${seconds(delayMs)}`}`
}

async function cancelled(scheduler, view, { jobId, runId }) {
  view.ended(runId)
  const { cancelReason } = await scheduler.getJob(jobId)
  view.line(yellow('–'), `${await labelOf(scheduler, jobId)} was cancelled: ${cancelReason}`)
}

export async function labelOf(scheduler, jobId) {
  const { type, name } = await scheduler.getJob(jobId)
  return name === null ? type : `${type} ${name}`
}

function firstLine(text) {
  return text
    .split('\n')[0]
    .replace(/^NonRetryableError: /, '')
    .replace(/\.$/, '')
}
