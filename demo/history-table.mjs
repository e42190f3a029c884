// What the history says when all is over: every chain, every attempt.

import { labelOf } from './reporter.mjs'
import { bold, columns, cut, dim, green, pad, red, seconds, yellow } from './terminal.mjs'

const COLOURS = { COMPLETED: green, FAILED: red, SKIPPED: yellow, CANCELLED: yellow }

/** Lines of a table with one row per attempt, oldest chain first. */
export async function historyTable(scheduler, nameOfNode) {
  const { items } = await scheduler.listJobs({ limit: 200 })
  const chainIds = items.filter(({ attempt }) => attempt === 1).map(({ chainId }) => chainId)
  const rows = [HEAD]
  for (const chainId of chainIds.reverse()) rows.push(...(await rowsOf(scheduler, chainId, nameOfNode)))
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column].length)))
  widths[LAST] = columns() - widths.slice(0, LAST).reduce((sum, width) => sum + width + GAP.length, GAP.length + 1)
  // A narrow terminal has no room for the last column.
  const kept = widths[LAST] < SAYS_MIN ? LAST : HEAD.length
  return rows.map((row, index) => {
    const cells = row.slice(0, kept).map((cell, column) => show(cut(cell, widths[column]), widths[column], index))
    return GAP + cells.join(GAP).trimEnd()
  })
}

const GAP = '  '
const SAYS_MIN = 15

const HEAD = ['job', 'attempt', 'outcome', 'reason', 'took', 'where', 'says']
const LAST = HEAD.length - 1

function show(cell, width, index) {
  const colour = index === 0 ? bold : (COLOURS[cell] ?? ((text) => text))
  return pad(colour(cell), width)
}

async function rowsOf(scheduler, chainId, nameOfNode) {
  const { items } = await scheduler.getChain(chainId)
  const label = await labelOf(scheduler, chainId)
  return Promise.all(
    items.map(async (job, index) => {
      const run = await scheduler.findRunOfJob(job.jobId)
      return [
        index === 0 ? label : '',
        String(job.attempt),
        job.status === 'CANCELLED' ? 'CANCELLED' : (job.outcome ?? job.status),
        run?.reason ?? '',
        run === null ? '' : seconds(run.durationMs ?? 0),
        run === null ? '' : nameOfNode(run.nodeId) || 'this process',
        says(job, run),
      ]
    }),
  )
}

function says(job, run) {
  const text = run === null ? job.cancelReason : (run.error ?? (run.result === null ? '' : JSON.stringify(run.result)))
  return (text ?? '').split('\n')[0]
}

/** How many attempts there were, and what became of the chains. */
export async function totals(scheduler) {
  const { items } = await scheduler.listJobs({ limit: 200 })
  const retries = items.filter(({ attempt }) => attempt > 1).length
  const runs = (await scheduler.listRuns({ limit: 200 })).items
  const lost = items.filter(({ status }) => status === 'RUNNING' || status === 'QUEUED').length
  return dim(
    `  ${items.length - retries} jobs accepted, ${runs.length} executions, ${retries} retries, ${lost} lost or left over.`,
  )
}
