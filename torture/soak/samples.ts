/** How a node was, over some seconds. */
export interface Sample {
  readonly rss: number
  readonly heap: number
  /** What the node took of a processor. */
  readonly cpuMs: number
  /** How late an idle process beside it was: what the machine is to blame for. */
  readonly machineMs: number
  /** 99 of 100 turns of the loop came no later than this. */
  readonly loopMs: number
  /** From the enqueue to the start of the body. */
  readonly p50: number
  readonly p99: number
  readonly ended: number
  readonly writes: number
  readonly bytes: number
}

const MB = 1_048_576

/** Something that must be flat: how it is read, and how much worse the last third may be than the first. */
interface Flat {
  readonly what: string
  readonly of: (third: readonly Sample[]) => number
  readonly unit: string
  readonly factorMax: number
  readonly moreMax: number
  /** It says something of the node only while the machine has time for it. */
  readonly needsQuiet?: true
}

const FLAT: readonly Flat[] = [
  { what: 'memory', of: (third) => median(third.map(({ rss }) => rss / MB)), unit: 'MB', factorMax: 1.3, moreMax: 50 },
  // What is left right after the garbage was collected.
  { what: 'heap', of: (third) => least(third.map(({ heap }) => heap / MB)), unit: 'MB', factorMax: 1.3, moreMax: 20 },
  {
    what: 'file',
    of: (third) => median(third.map(({ bytes }) => bytes / MB)),
    unit: 'MB',
    factorMax: 1.5,
    moreMax: 20,
  },
  {
    what: 'writes per Job',
    of: (third) => perJob(third, ({ writes }) => writes),
    unit: '',
    factorMax: 1.3,
    moreMax: 2,
  },
  {
    what: 'of a processor per Job',
    of: (third) => perJob(third, ({ cpuMs }) => cpuMs),
    unit: 'ms',
    factorMax: 2,
    moreMax: 2,
  },
  { ...waitOf('p50'), factorMax: 3, moreMax: 20 },
  { ...waitOf('p99'), factorMax: 3, moreMax: 200 },
  {
    what: 'p99 of the loop',
    of: (third) => median(third.map(({ loopMs }) => loopMs)),
    unit: 'ms',
    factorMax: 3,
    moreMax: 50,
    needsQuiet: true,
  },
]

function waitOf(percentile: 'p50' | 'p99') {
  const of = (third: readonly Sample[]) => median(third.map((sample) => sample[percentile]))
  return { what: `${percentile} of the wait`, of, unit: 'ms', needsQuiet: true } as const
}

/** A machine on which an idle process is so late has too little time for the node. */
const QUIET_MS = 30

/** Whether the machine had time for the node. */
export function isQuiet(samples: readonly Sample[]): boolean {
  return median(samples.map(({ machineMs }) => machineMs)) <= QUIET_MS
}

/** What the last third of a run is worse in than the first, beyond the margin. */
export function findDrift(samples: readonly Sample[]): string[] {
  const size = Math.floor(samples.length / 3)
  if (size === 0) return []
  const [first, last] = [samples.slice(0, size), samples.slice(-size)]
  const judged = FLAT.filter(({ needsQuiet }) => needsQuiet !== true || (isQuiet(first) && isQuiet(last)))
  return judged.flatMap(({ what, of, unit, factorMax, moreMax }) => {
    const [before, after] = [of(first), of(last)]
    const most = before * factorMax + moreMax
    if (after <= most) return []
    const shown = (value: number) => `${value.toFixed(1)} ${unit}`.trim()
    return [
      `I15: ${what} was ${shown(before)} in the first third, and is ${shown(after)} in the last: more than ${shown(most)}`,
    ]
  })
}

/** Whole numbers, of the last third. */
export function summarise(samples: readonly Sample[]): Record<string, number> {
  if (samples.length === 0) return {}
  const last = samples.slice(-Math.max(1, Math.floor(samples.length / 3)))
  const machine = ['ms an idle process was late', Math.round(median(last.map(({ machineMs }) => machineMs)))] as const
  const found = FLAT.map(({ what, of, unit }) => [`${unit} ${what}`.trim(), Math.round(of(last))])
  return Object.fromEntries([...found, machine]) as Record<string, number>
}

function perJob(third: readonly Sample[], of: (sample: Sample) => number): number {
  const sum = (what: (sample: Sample) => number) => third.reduce((total, sample) => total + what(sample), 0)
  return (
    sum(of) /
    Math.max(
      1,
      sum(({ ended }) => ended),
    )
  )
}

function least(values: readonly number[]): number {
  return Math.min(...values)
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
