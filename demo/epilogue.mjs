// The end of the demo: what the history says, and where to go from here.
import { historyTable, totals } from './history-table.mjs'
import { bold } from './terminal.mjs'

export async function epilogue(scheduler, database, nameOfNode) {
  const file = /^[\w./-]+$/.test(database) ? database : `"${database}"`
  const runs = 'select job_type, attempt, status, reason, duration_ms, node from pawl_runs_readable'
  const events = 'select at, event, job_type, attempt, outcome from pawl_events_readable order by seq desc limit 20'
  return [
    '',
    `  ${bold('What the history says')}`,
    '',
    ...(await historyTable(scheduler, nameOfNode)),
    '',
    await totals(scheduler),
    '',
    `  ${bold('Look for yourself')}: it is a plain SQLite file, with views made for reading`,
    '',
    `    sqlite3 -box ${file} "${runs}"`,
    `    sqlite3 -box ${file} "${events}"`,
    `    cat ${file}-logs/*.log`,
    '',
    `  ${bold('Try next')}`,
    '',
    '    your own first job, in two minutes   README.md',
    '    each capability, with examples       docs/README.md, examples/',
    '    how it works inside                  ARCHITECTURE.md',
    '    Ctrl-C in the middle of the demo     no process stays behind',
    '',
  ].join('\n')
}
