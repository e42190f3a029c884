import type { Chance } from '../chance.ts'
import type { Change, Disk, DiskFile, Fate } from './disk.ts'

/** What became of everything that was not safe when the power failed. */
export const MANNERS = [
  'all kept',
  'all dropped',
  'last one torn',
  'the first ones kept',
  'one dropped',
  'one kept',
  'only the log kept',
  'only the log dropped',
  'each by chance',
  'each by chance, or torn',
] as const

export type Manner = (typeof MANNERS)[number]

/** A folder as a power cut could have left it. */
export interface Image {
  readonly manner: Manner
  readonly files: ReadonlyMap<string, Buffer>
  /** The same for the same image of the same trace. */
  readonly key: string
  /** How many writes and changes of sizes and names were not safe, and how many of them were lost, or torn. */
  readonly unsafe: number
  readonly lost: number
  readonly torn: number
}

/** Whether a file is a part of what is examined: not the index of the log, which SQLite makes anew after a power cut. */
type IsWanted = (name: string) => boolean

export function chooseImage(disk: Disk, chance: Chance, isWanted: IsWanted): Image {
  const manner = chance.of(MANNERS)
  const keptNames = chooseNames(disk.pendingNames, manner, chance)
  const files = [...disk.namesAfter(keptNames)].filter(([name]) => isWanted(name))
  const changes = files
    .flatMap(([name, file]) => file.pending.map((change) => ({ name, change })))
    .sort((a, b) => a.change.number - b.change.number)
  const fates = new Map(changes.map(({ change }) => [change, 'kept' as Fate]))
  decideFates(changes, fates, manner, chance)
  const all = [...fates.values()]
  return {
    manner,
    files: new Map(files.map(([name, file]) => [name, file.contentAfter(fates)])),
    key: keyOf(files, fates),
    unsafe: fates.size + disk.pendingNames,
    lost: all.filter((fate) => fate === 'dropped').length + disk.pendingNames - keptNames,
    torn: all.filter((fate) => typeof fate !== 'string').length,
  }
}

function chooseNames(pending: number, manner: Manner, chance: Chance): number {
  if (manner === 'all kept') return pending
  return manner === 'all dropped' ? 0 : chance.between(0, pending)
}

function decideFates(
  changes: readonly { readonly name: string; readonly change: Change }[],
  fates: Map<Change, Fate>,
  manner: Manner,
  chance: Chance,
): void {
  const set = (index: number, fate: Fate) => {
    const change = changes[index]?.change
    if (change !== undefined) fates.set(change, fate)
  }
  const drop = (isDropped: (index: number) => boolean) =>
    changes.forEach((_, index) => isDropped(index) && set(index, 'dropped'))
  const isLog = (index: number) => changes[index]?.name.endsWith('-wal') ?? false
  const one = chance.below(changes.length)
  switch (manner) {
    case 'all kept':
      return
    case 'all dropped':
      return drop(() => true)
    case 'last one torn':
      return set(changes.length - 1, tear(changes.at(-1)?.change, chance))
    case 'the first ones kept':
      return drop((index) => index >= one)
    case 'one dropped':
      return drop((index) => index === one)
    case 'one kept':
      return drop((index) => index !== one)
    case 'only the log kept':
      return drop((index) => !isLog(index))
    case 'only the log dropped':
      return drop(isLog)
    case 'each by chance':
    case 'each by chance, or torn': {
      const lost = chance.of([0.05, 0.3, 0.7, 0.95])
      const torn = manner === 'each by chance' ? 0 : chance.of([0.1, 0.5])
      changes.forEach(({ change }, index) => {
        if (chance.is(torn)) set(index, tear(change, chance))
        else if (chance.is(lost)) set(index, 'dropped')
      })
    }
  }
}

/** Some sectors of a write, by the sizes in which disks and caches write them. */
function tear(change: Change | undefined, chance: Chance): Fate {
  if (change === undefined || change.kind !== 'write') return 'dropped'
  const { offset, bytes } = change
  const sector = chance.of([512, 512, 4_096])
  const sectors: { start: number; end: number }[] = []
  for (let start = offset; start < offset + bytes.length; ) {
    const end = Math.min(offset + bytes.length, (Math.floor(start / sector) + 1) * sector)
    sectors.push({ start, end })
    start = end
  }
  const at = chance.below(sectors.length + 1)
  switch (chance.of(['begin', 'end', 'some'] as const)) {
    case 'begin':
      return sectors.slice(0, at)
    case 'end':
      return sectors.slice(at)
    case 'some':
      return sectors.filter(() => chance.is(0.5))
  }
}

function keyOf(files: readonly (readonly [string, DiskFile])[], fates: ReadonlyMap<Change, Fate>): string {
  const parts = files.map(([name, file]) => {
    const kept = file.pending.map((change) => inShort(change, fates.get(change) ?? 'dropped'))
    return `${name} ${file.namedAt} ${file.version} ${kept.join('')}`
  })
  return parts.join('|')
}

function inShort({ number }: Change, fate: Fate): string {
  if (fate === 'dropped') return ''
  return fate === 'kept' ? `${number},` : `${number}:${fate.map(({ start }) => start).join('.')},`
}
