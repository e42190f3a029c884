import { DOOR } from '../library/door.ts'
import { openScheduler } from '../library/open-scheduler.ts'
import type { Check, Examination, Repair } from '../operations/doctor.ts'
import { examineStore, repairStore } from '../operations/doctor.ts'
import type { StoreState } from '../store/store.ts'
import type { Cli } from './cli.ts'
import { refuseMissing } from './session.ts'
import type { StoreTarget } from './target.ts'

export interface Examined {
  readonly examination: Examination
  readonly repairs: readonly Repair[]
}

/** Looks at a store, and repairs it if that was asked for. One with an older schema is not even opened: that would migrate it. */
export async function examineTarget(cli: Cli, target: StoreTarget, isFixing: boolean): Promise<Examined> {
  const state = refuseMissing(target, await target.source.inspect())
  if (state.kind === 'older') return { examination: { ok: false, checks: [outdated(state)] }, repairs: [] }
  const scheduler = await openScheduler({ store: target.source, logger: cli.logger })
  try {
    const { context } = scheduler[DOOR]
    if (!isFixing) return { examination: await examineStore(context), repairs: [] }
    const { repairs, after } = await repairStore(context, { logger: cli.logger })
    return { examination: after, repairs }
  } finally {
    await scheduler.close()
  }
}

function outdated({ version, latest, pending }: StoreState): Check {
  return {
    id: 'schema',
    title: 'The schema is that of this version of Pawl.',
    status: 'fault',
    findings: [
      {
        severity: 'fault',
        message: `The schema has version ${version}, but this Pawl works with version ${latest}. Nothing else was looked at.`,
        advice: 'Make a backup, run `pawl migrate`, and ask again.',
        rows: pending,
        count: pending.length,
        remedy: null,
      },
    ],
  }
}
