import { PawlError } from '../domain/errors.ts'
import { type Logger, stderrLogger } from '../platform/logger.ts'
import { systemRandom } from '../platform/random.ts'
import { type CheckedInvariant, DERIVED, type Finding, type Remedy } from '../store/checks.ts'
import type { OperationContext } from './context.ts'
import { examineHealth } from './doctor-health.ts'
import { recoverOnce } from './doctor-recovery.ts'
import { type Check, checkOf, type Examination, type Repair, type RepairedStore } from './examination.ts'

export type { Check, Examination, Repair, RepairedStore } from './examination.ts'

/** Looks at everything that the store can show, and changes nothing. */
export async function examineStore(context: OperationContext): Promise<Examination> {
  const invariants = await context.store.checkInvariants(context.clock.now())
  const checks = [...invariants.map(toCheck), ...(await examineHealthOrSayWhyNot(context))]
  return { ok: checks.every(({ status }) => status !== 'fault'), checks }
}

/** A damaged store may refuse to answer; the invariants have shown already that it is damaged. */
async function examineHealthOrSayWhyNot(context: OperationContext): Promise<Check[]> {
  try {
    return await examineHealth(context)
  } catch (error) {
    if (!(error instanceof PawlError) || error.code !== 'database_corrupt') throw error
    const advice = 'Stop all nodes and restore a backup.'
    const finding = { severity: 'fault', message: error.message, advice, rows: [], count: 0, remedy: null } as const
    return [checkOf('health', 'The store can be read.', [finding])]
  }
}

function toCheck({ invariant, title, findings }: CheckedInvariant): Check {
  return checkOf(invariant, title, findings)
}

const DONE: Readonly<Record<Exclude<Remedy, 'recovery'>, string>> = {
  nodes: 'Nodes that had left, but had bodies recorded, are looked at by recovery again.',
  dependents: 'The dependents of settled chains will be told: any node that is started does so.',
  queue: 'What holds queued Jobs back, and their places, were made anew.',
  groups: 'Groups were counted anew.',
  tags: 'The list of Jobs by tag was made anew.',
  types: 'The list of Jobs by type was made anew.',
  'business-keys': 'Business keys were given to the chains that are live, and taken from those that are not.',
  'scheduled-chains': 'The lists of live chains of schedules were made anew.',
  permits: 'Permits were given to the bodies that execute, and taken from those that do not.',
  'uncompleted-runs': 'The list of failed and skipped Runs was made anew.',
}

/**
 * Puts right what can be put right with certainty: recovers what dead nodes left, as every start of a node does, and makes
 * anew what follows from the rest. Each step is a transaction of its own and may be repeated; living nodes may go on working.
 */
export async function repairStore(
  context: OperationContext,
  { logger = stderrLogger }: { readonly logger?: Logger } = {},
): Promise<RepairedStore> {
  const before = await examineStore(context)
  const repairs: Repair[] = []
  let after = before
  let failures: readonly Finding[] = []
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const attempt = await repairOnce(context, logger, after)
    failures = attempt.failures
    if (attempt.repairs.length === 0) break
    repairs.push(...attempt.repairs)
    after = await examineStore(context)
  }
  if (failures.length > 0) {
    after = { ok: false, checks: [...after.checks, checkOf('repair', 'What was found could be put right.', failures)] }
  }
  return { before, repairs, after }
}

/** What is put right may show what was hidden behind it. */
const ROUNDS_MAX = 3

interface Attempt {
  readonly repairs: readonly Repair[]
  readonly failures: readonly Finding[]
}

async function repairOnce(context: OperationContext, logger: Logger, found: Examination): Promise<Attempt> {
  const remedies = new Set(found.checks.flatMap(({ findings }) => findings.map(({ remedy }) => remedy)))
  const repairs: Repair[] = []
  const failures: Finding[] = []
  const tryTo = async (remedy: Remedy, repair: () => Promise<readonly Repair[]>): Promise<void> => {
    try {
      repairs.push(...(await repair()))
    } catch (error) {
      failures.push(failureOf(remedy, error))
    }
  }
  for (const remedy of DERIVED) {
    if (!remedies.has(remedy)) continue
    await tryTo(remedy, async () => {
      const count = await context.store.rebuild(remedy, context.clock.now())
      return count > 0 ? [{ remedy, message: DONE[remedy], count }] : []
    })
  }
  // Last, because it believes what is derived: a Job that is not at its place in the queue would seem lost to it.
  if (remedies.has('recovery') || remedies.has('nodes')) {
    await tryTo('recovery', () => recoverOnce(context, logger, systemRandom))
  }
  return { repairs, failures }
}

/** One remedy that fails must not keep the others from being tried, nor what was found from being told. */
function failureOf(remedy: Remedy, error: unknown): Finding {
  const reason = error instanceof Error ? error.message : String(error)
  const message = `The remedy \`${remedy}\` failed, and changed nothing: ${reason.replace(/\.$/, '')}.`
  const advice = 'Put right what else was found, then use --fix again; or stop all nodes and restore a backup.'
  return { severity: 'fault', message, advice, rows: [], count: 0, remedy: null }
}
