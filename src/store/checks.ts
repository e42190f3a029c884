/** How many rows of a finding are listed. */
export const ROWS_LISTED_MAX = 20

/** How many rows of a finding are counted; `count` stops here. */
export const ROWS_COUNTED_MAX = 1_000

/**
 * What is stored a second time, or follows from what is stored, so that it can be made anew:
 * - `nodes`: whether a node has left: not while bodies are recorded there;
 * - `queue`: what holds a QUEUED Job back, and its place, as its Job, its edges and its predecessor say;
 * - `groups`: the counts of groups, as their members say;
 * - `tags`: the list of Jobs by tag;
 * - `business-keys`: who holds a key, as the live chains say;
 * - `scheduled-chains`: which chains of a schedule are live;
 * - `dependents`: the stored order to tell dependents of a chain that has settled;
 * - `permits`: which permits are taken, as the bodies that execute say; nothing where they are counted anew each time;
 * - `uncompleted-runs`: the list of Runs that failed or were skipped; nothing where it is an index.
 */
export type Derived =
  | 'nodes'
  | 'queue'
  | 'groups'
  | 'tags'
  | 'types'
  | 'business-keys'
  | 'scheduled-chains'
  | 'dependents'
  | 'permits'
  | 'uncompleted-runs'

/** In the order in which they are made anew: each may follow from those before it. */
export const DERIVED: readonly Derived[] = [
  'nodes',
  'dependents',
  'queue',
  'groups',
  'tags',
  'types',
  'business-keys',
  'scheduled-chains',
  'permits',
  'uncompleted-runs',
]

/** What puts it right: the recovery that every start of a node does, or making something anew. */
export type Remedy = 'recovery' | Derived

/** One thing that is not as it should be. */
export interface Finding {
  /** `fault`: it contradicts what Pawl promises. `warning`: it may be right, but a person should know. */
  readonly severity: 'fault' | 'warning'
  /** What is wrong, in one sentence. */
  readonly message: string
  /** What to do about it. */
  readonly advice: string
  /** The ids of the rows concerned, at most `ROWS_LISTED_MAX`. */
  readonly rows: readonly string[]
  /** How many rows are concerned; counted up to `ROWS_COUNTED_MAX`. */
  readonly count: number
  /** Null: `doctor --fix` cannot put it right. */
  readonly remedy: Remedy | null
}

/** What was looked at, also when nothing was found. */
export interface CheckedInvariant {
  /** As in ARCHITECTURE.md: `I5`. What has no number there has a word: `statistics`. */
  readonly invariant: string
  /** What holds when nothing was found. */
  readonly title: string
  readonly findings: readonly Finding[]
}

/** A body that executes right now. */
export interface RunningBody {
  readonly kind: 'job' | 'direct'
  /** Of the Job, or of the reservation. */
  readonly id: string
  readonly type: string
  readonly resources: readonly string[]
  readonly nodeId: string
  readonly startedAt: number
  readonly timeoutMs: number | null
  /** Its outcome is written already; only its code has not ended. */
  readonly isEnded: boolean
}

/** Jobs of one kind that nothing but limits and places keeps from starting. */
export interface ReadyLane {
  readonly type: string
  readonly resources: readonly string[]
  readonly count: number
  /** The one that has been ready for longest, and since when. */
  readonly jobId: string
  readonly since: number
}

/** What a store shows of its own condition. What it means is for the caller to say. */
export interface StoreVitals {
  readonly schema: { readonly version: number; readonly latest: number }
  /** The latest instants that are stored, and of what they are. */
  readonly latestInstants: readonly { readonly what: string; readonly at: number }[]
  /** At most `VITALS_LISTED_MAX`. */
  readonly bodies: readonly RunningBody[]
  readonly readyLanes: readonly ReadyLane[]
  /** Orders to tell dependents or members that have not been carried out. */
  readonly cascades: { readonly count: number; readonly oldestAt: number } | null
  /** Pending deliveries that are due, to receivers that are enabled, and nobody sends. */
  readonly dueDeliveries: { readonly count: number; readonly oldestAt: number; readonly deliveryId: string } | null
  /** The files; null for a store that has none of its own. */
  readonly files: StoreFiles | null
}

export interface StoreFiles {
  readonly path: string
  readonly bytes: number
  /** What was written but not yet moved into the main file. */
  readonly logBytes: number
  /** What is left on the disk. */
  readonly freeBytes: number
}

export const VITALS_LISTED_MAX = 10_000

export interface CheckStore {
  /**
   * Looks at every row, in one snapshot, and changes nothing. It takes long on a large store, but never blocks writers, and
   * lets others have their turn in between.
   */
  checkInvariants(now: number): Promise<readonly CheckedInvariant[]>

  readVitals(now: number): Promise<StoreVitals>

  /** Makes anew what is derived, in one transaction. Returns how many rows were wrong. */
  rebuild(what: Derived, now: number): Promise<number>
}
