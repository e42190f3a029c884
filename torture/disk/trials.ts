import type { Chance } from '../chance.ts'
import type { DiskFault } from '../shim/shim.ts'
import { DAMAGES, type Damage } from './damage.ts'

/** One way in which a disk, a file or its surroundings fail. */
export type Trial =
  /** Calls fail while a process works, until somebody makes room, or repairs the disk. */
  | { readonly kind: 'faults'; readonly name: string; readonly faults: readonly DiskFault[] }
  /** No file may grow beyond this size, until the limit is lifted. */
  | { readonly kind: 'size-limit'; readonly name: string; readonly kilobytes: number }
  /** A file is damaged while nobody has it open. */
  | { readonly kind: 'damage'; readonly name: string; readonly damage: Damage }
  /** Two servers on one file, one of which is killed. */
  | { readonly kind: 'servers'; readonly name: string }

interface FaultKind {
  readonly name: string
  readonly faults: (chance: Chance) => readonly DiskFault[]
}

/** A process writes some two hundred times until a new database is open, and then some twenty times for each request. */
const anyWrite = (chance: Chance) => (chance.is(0.3) ? chance.between(1, 250) : chance.between(250, 1_500))
/** It syncs four times until then, and once for each commit. */
const anySync = (chance: Chance) => (chance.is(0.2) ? chance.between(1, 6) : chance.between(6, 80))
const inLog = (chance: Chance) => (chance.is(0.5) ? { file: '-wal' } : {})

const FAULT_KINDS: readonly FaultKind[] = [
  {
    name: 'disk full',
    faults: (chance) => [{ call: 'write', error: 'ENOSPC', when: { from: anyWrite(chance) } }],
  },
  {
    name: 'disk full in the middle of a write',
    faults: (chance) => {
      const from = anyWrite(chance)
      return [
        { call: 'write', error: 'short', when: { at: from } },
        { call: 'write', error: 'ENOSPC', when: { from: from + 1 } },
      ]
    },
  },
  {
    name: 'quota used up',
    faults: (chance) => [{ call: 'write', error: 'EDQUOT', when: { from: anyWrite(chance) } }],
  },
  {
    name: 'one write fails',
    faults: (chance) => [
      { call: 'write', error: chance.of(['EIO', 'ENOSPC'] as const), when: { at: anyWrite(chance) }, ...inLog(chance) },
    ],
  },
  {
    name: 'all writes fail',
    faults: (chance) => [{ call: 'write', error: 'EIO', when: { from: anyWrite(chance) }, ...inLog(chance) }],
  },
  {
    name: 'some writes fail',
    faults: (chance) => {
      const when = { probability: chance.of([0.002, 0.02]), seed: chance.below(1_000_000) }
      return [{ call: 'write', error: chance.of(['EIO', 'ENOSPC'] as const), when }]
    },
  },
  {
    name: 'short writes',
    faults: (chance) => [{ call: 'write', error: 'short', when: { probability: 0.3, seed: chance.below(1_000_000) } }],
  },
  {
    name: 'one sync fails',
    faults: (chance) => [{ call: 'sync', error: 'EIO', when: { at: anySync(chance) } }],
  },
  {
    name: 'all syncs fail',
    faults: (chance) => [
      { call: 'sync', error: chance.of(['EIO', 'ENOSPC'] as const), when: { from: anySync(chance) } },
    ],
  },
  {
    name: 'some syncs fail',
    faults: (chance) => [{ call: 'sync', error: 'EIO', when: { probability: 0.1, seed: chance.below(1_000_000) } }],
  },
  {
    name: 'file cannot be opened',
    faults: (chance) => [
      { call: 'open', error: chance.of(['EIO', 'EMFILE'] as const), when: { from: chance.between(1, 12) } },
    ],
  },
  {
    name: 'read-only',
    faults: (chance) => {
      const error = chance.of(['EROFS', 'EACCES'] as const)
      const isFromTheStart = chance.is(0.5)
      const open: DiskFault = { call: 'open', error, when: { from: isFromTheStart ? 1 : chance.between(6, 12) } }
      return isFromTheStart ? [open] : [open, { call: 'write', error: 'EROFS', when: { from: anyWrite(chance) } }]
    },
  },
  {
    name: 'files cannot be truncated or removed',
    faults: () => [
      { call: 'truncate', error: 'EIO', when: { from: 1 } },
      { call: 'unlink', error: 'EACCES', when: { from: 1 } },
    ],
  },
]

/** The same trial for the same chance. Each kind comes again and again: `index` says how many there were before. */
export function chooseTrial(chance: Chance, index: number, hasLimits: boolean): Trial {
  if (index % 25 === 3) return { kind: 'servers', name: 'two servers' }
  if (index % 25 === 7 && hasLimits) {
    return { kind: 'size-limit', name: 'file size limit', kilobytes: chance.between(200, 2_000) }
  }
  if (index % 2 === 1) {
    const damage = DAMAGES[((index - 1) / 2) % DAMAGES.length] as Damage
    return { kind: 'damage', name: damage, damage }
  }
  const { name, faults } = FAULT_KINDS[(index / 2) % FAULT_KINDS.length] as FaultKind
  return { kind: 'faults', name, faults: faults(chance) }
}
