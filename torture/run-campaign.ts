import type { Campaign, Outcome, Violation } from './campaign.ts'
import type { RunCommand } from './command.ts'
import { inWords, ProgressBar } from './progress-bar.ts'
import { writeDocs } from './write-docs.ts'

/** What is told of a run. */
export interface Summary {
  readonly campaign: string
  readonly seed: number
  readonly store: string | null
  readonly amount: string
  readonly outcome: Outcome
  readonly seconds: number
  /** Ended before all of the amount was done, because somebody wanted it to. */
  readonly isCutShort: boolean
}

/** So many violations are told in full. */
const TOLD_MAX = 10

/** Runs it, tells what came of it, and answers how the process should end. */
export async function runCampaign(command: RunCommand): Promise<number> {
  const { campaign, seed, amount, store, isShort, endsWithFirst, only, asJson, writesDocs } = command
  const obstacle = campaign.obstacle?.() ?? null
  if (obstacle !== null) {
    console.error(`${campaign.name} cannot be run here: ${obstacle}`)
    return 2
  }
  const ending = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => ending.abort())
  const progress = new ProgressBar(campaign.amount, amount)
  const again = replayLine(campaign, command)
  if (!asJson)
    progress.tell(
      `${campaign.name}: ${amount} ${campaign.amount.of ?? campaign.amount.name}, seed ${seed}. Again with: ${again}`,
    )
  const startedAt = performance.now()
  const outcome = await campaign.run({
    seed,
    amount,
    store,
    isShort,
    endsWithFirst,
    only,
    writesDocs,
    progress,
    signal: ending.signal,
  })
  progress.end()
  const summary: Summary = {
    campaign: campaign.name,
    seed,
    store: (campaign.stores ?? []).length > 1 ? store : null,
    amount: campaign.amount.of ?? campaign.amount.name,
    outcome,
    seconds: (performance.now() - startedAt) / 1_000,
    isCutShort: ending.signal.aborted,
  }
  console.log(asJson ? JSON.stringify(summary) : inLines(summary).join('\n'))
  // What was ended early says less than what stands there.
  if (writesDocs && !summary.isCutShort) writeDocs(summary)
  return outcome.violations.length === 0 ? 0 : 1
}

function replayLine({ name, amount: { name: amountName }, stores = [] }: Campaign, command: RunCommand): string {
  const store = stores.length > 1 ? ` --store ${command.store}` : ''
  const only = command.only === null ? '' : ` --only ${command.only}`
  const short = command.isShort ? ' --short' : ''
  return `npm run torture -- ${name} --${amountName} ${command.amount}${store}${only} --seed ${command.seed}${short}`
}

function inLines({ outcome, amount, seconds, isCutShort }: Summary): string[] {
  const { done, trials, counts, violations, trace } = outcome
  const told = Object.entries(counts).map(([what, count]) => `${count.toLocaleString('en')} ${what}`)
  return [
    `${done.toLocaleString('en')} ${amount}${isCutShort ? ', ended early' : ''} in ${inWords(seconds)}`,
    ...(told.length === 0 ? [] : [told.join(', ')]),
    ...(trace === undefined ? [] : [`Trace hash ${trace}: the same seeds give the same one again.`]),
    ...violations.slice(0, TOLD_MAX).flatMap(inWordsOf),
    ...(violations.length > TOLD_MAX ? [`… and ${violations.length - TOLD_MAX} more violations`] : []),
    violations.length === 0
      ? `Nothing was violated. ${boundOf(trials)}`
      : `VIOLATED: ${violations.length} of ${trials} trials.`,
  ]
}

function inWordsOf({ replay, messages }: Violation): string[] {
  return [`✗ npm run torture -- ${replay}`, ...messages.map((message) => `    ${message}`)]
}

/** The rule of three: what 0 failures in so many trials say. */
function boundOf(trials: number): string {
  if (trials < 3) return 'Too few trials to say how rare a failure is.'
  return `At 95 % confidence, fewer than ${(3 / trials).toPrecision(1)} of trials like these fail (0 of ${trials.toLocaleString('en')}).`
}
