import { relative } from 'node:path'
import { DOOR } from '../../library/door.ts'
import { openScheduler } from '../../library/open-scheduler.ts'
import type { Scheduler } from '../../library/scheduler.ts'
import type { Cli } from '../cli.ts'
import { given } from '../read-options.ts'
import { processLog } from './process-log.ts'
import type { ProcessOptions } from './process-options.ts'

/** A scheduler on the store and with the types of the configuration. */
export interface OpenedProcess {
  readonly scheduler: Scheduler
  /** The store in words: `sqlite pawl.db`. */
  readonly store: string
  readonly types: readonly string[]
}

export async function openProcess(cli: Cli, options: ProcessOptions, reason: string): Promise<OpenedProcess> {
  const target = await cli.storeTarget(reason)
  const config = (await cli.loadConfig())?.config
  const jobs = config?.jobs ?? []
  const scheduler = await openScheduler({
    store: target.source,
    jobs,
    ...given({
      concurrency: options.concurrency,
      maxRunning: config?.maxRunning,
      resources: config?.resources,
      webhooks: config?.webhooks,
    }),
    // Who ends the process waits for the bodies before: see end-in-good-order.ts.
    shutdownTimeoutMs: 0,
    acceptAnyType: options.acceptAnyType,
    logger: processLog(cli),
  })
  const { description } = scheduler[DOOR].context.store
  return { scheduler, store: shownStore(description, cli.cwd), types: jobs.map(({ type }) => type) }
}

/** `sqlite /here/pawl.db` is `sqlite pawl.db` for somebody who is here. */
function shownStore(description: string, cwd: string): string {
  const [, kind, path] = /^(\S+) (\/.*)$/s.exec(description) ?? []
  if (kind === undefined || path === undefined) return description
  const nearby = relative(cwd, path)
  return nearby.startsWith('..') ? description : `${kind} ${nearby}`
}

/** `4 job types`, `1 job type`, or what to do about none. */
export function typesInWords(types: readonly string[]): string {
  if (types.length === 0) return 'no job types: `pawl init` writes an example'
  return `${types.length} job type${types.length === 1 ? '' : 's'}`
}
