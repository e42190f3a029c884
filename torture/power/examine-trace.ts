import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Violation } from '../campaign.ts'
import type { Chance } from '../chance.ts'
import { checkImage } from './check-image.ts'
import { chooseImage, type Image } from './choose-image.ts'
import { Disk } from './disk.ts'
import { drainImage } from './drain-image.ts'
import { DATABASE_FILE, SAID_FILE, type Said } from './said.ts'
import { Testimony } from './testimony.ts'
import type { TraceRecord } from './trace.ts'

/** Of so many images one is started from, and everything in it must come to its end. */
const DRAINED_EVERY = 40
/** An image that was examined already is chosen anew so many times. */
const TRIES_MAX = 10
/** What else a trace shows is most often the same again. */
const VIOLATIONS_MAX = 5
/** A file is made with so many records. */
const FIRST_RECORDS = 40
const JUNK_BYTES = 32_768
/** After the last thing that was said, on the clock of the trace. */
const LATER_MS = 60_000

/** What was seen of the images of one trace. */
export interface Examined {
  images: number
  /** Of these something was lost or torn. */
  damaged: number
  lost: number
  torn: number
  drained: number
  writes: number
  syncs: number
  /** How often SQLite moved its log into the file. */
  checkpoints: number
  acknowledgements: number
  readonly violations: Violation[]
}

export interface ExaminationOptions {
  readonly records: readonly TraceRecord[]
  readonly images: number
  readonly chance: Chance
  /** For one image after the other. */
  readonly folder: string
  /** Where images that show something wrong are left, for whoever looks for the cause. */
  readonly keepIn: string
  readonly replay: string
  readonly signal: AbortSignal
  readonly done: (images: number) => void
}

/** Cuts the power at many moments of a trace, and examines what could have been left each time. */
export async function examineTrace(options: ExaminationOptions): Promise<Examined> {
  const { records, images, chance, folder, signal } = options
  const examined: Examined = {
    images: 0,
    damaged: 0,
    lost: 0,
    torn: 0,
    drained: 0,
    writes: records.filter(({ kind }) => kind === 'written').length,
    syncs: records.filter(({ kind }) => kind === 'sync-ended').length,
    checkpoints: records.filter(({ kind, name }) => kind === 'sync-ended' && name === DATABASE_FILE).length,
    acknowledgements: 0,
    violations: [],
  }
  const disk = new Disk()
  const testimony = new Testimony()
  const now = lastSaidAt(records) + LATER_MS
  const seen = new Set<string>()
  let at = 0
  for (const cut of chooseCuts(records, images, chance)) {
    if (signal.aborted || examined.violations.length === VIOLATIONS_MAX) break
    for (; at < cut; at++) follow(records[at] as TraceRecord, disk, testimony)
    const image = chooseNewImage(disk, chance, `${testimony.lines}`, seen)
    writeImage(folder, image, chance)
    const messages = await examine(folder, testimony, now, examined, chance)
    examined.images++
    examined.damaged += image.lost + image.torn > 0 ? 1 : 0
    examined.lost += image.lost
    examined.torn += image.torn
    if (messages.length > 0) examined.violations.push(toViolation(options, image, cut, examined.images, messages))
    options.done(1)
  }
  for (; at < records.length; at++) follow(records[at] as TraceRecord, disk, testimony)
  examined.acknowledgements = testimony.lines
  if (testimony.failures.length > 0) {
    examined.violations.push({ replay: options.replay, messages: testimony.failures.slice(0, 5) })
  }
  rmSync(folder, { recursive: true, force: true })
  return examined
}

function follow(record: TraceRecord, disk: Disk, testimony: Testimony): void {
  if (record.name !== SAID_FILE) return disk.follow(record)
  for (const line of linesOf(record)) testimony.hear(line)
}

function linesOf(record: TraceRecord): Said[] {
  if (record.kind !== 'written') return []
  const lines = record.bytes.toString('utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as Said)
}

function lastSaidAt(records: readonly TraceRecord[]): number {
  const last = records.findLast(({ kind, name }) => kind === 'written' && name === SAID_FILE)
  return last === undefined ? 0 : (linesOf(last).at(-1)?.at ?? 0)
}

/**
 * In their order: half of them beside syncs and words, where it is decided what must be there; some while the file is made,
 * which happens once in a trace; the others anywhere.
 */
function chooseCuts(records: readonly TraceRecord[], count: number, chance: Chance): number[] {
  const beside: number[] = []
  records.forEach(({ kind, name }, index) => {
    if (kind === 'sync-begun' || kind === 'sync-ended') beside.push(index, index + 1)
    else if (name === SAID_FILE) beside.push(index + 1)
  })
  const some = beside.filter(() => chance.is(Math.min(1, count / beside.length)))
  const chosen = chance.shuffled(some).slice(0, Math.ceil(count / 2))
  const atFirst = Math.min(FIRST_RECORDS, records.length)
  while (chosen.length < count) chosen.push(chance.between(1, chance.is(0.1) ? atFirst : records.length))
  return chosen.sort((a, b) => a - b)
}

/** SQLite makes the index of its log anew, so what is left of it must not matter. */
const isOfDatabase = (name: string) => !name.endsWith('-shm')

function chooseNewImage(disk: Disk, chance: Chance, heard: string, seen: Set<string>): Image {
  for (let tries = 1; ; tries++) {
    const image = chooseImage(disk, chance, isOfDatabase)
    const key = `${heard} ${image.key}`
    if (seen.has(key) && tries < TRIES_MAX) continue
    seen.add(key)
    return image
  }
}

function writeImage(folder: string, { files }: Image, chance: Chance): void {
  mkdirSync(folder, { recursive: true })
  for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true })
  for (const [name, content] of files) writeFileSync(join(folder, name), content)
  if (chance.is(0.2)) writeFileSync(join(folder, `${DATABASE_FILE}-shm`), Buffer.alloc(JUNK_BYTES, chance.below(256)))
}

async function examine(
  folder: string,
  testimony: Testimony,
  now: number,
  examined: Examined,
  chance: Chance,
): Promise<string[]> {
  const path = join(folder, DATABASE_FILE)
  const messages = await checkImage(path, testimony, now)
  if (messages.length > 0 || !chance.is(1 / DRAINED_EVERY)) return messages
  examined.drained++
  const drained = await drainImage(path, testimony, now)
  return [...drained, ...(await checkImage(path, testimony, now))]
}

function toViolation(
  options: ExaminationOptions,
  image: Image,
  cut: number,
  number: number,
  messages: readonly string[],
): Violation {
  const kept = join(options.keepIn, `cut-${cut}`)
  writeImage(kept, image, options.chance)
  const about = `Image ${number}, cut at record ${cut} of ${options.records.length}, ${image.manner}: ${image.lost} of ${image.unsafe} unsynced lost, ${image.torn} torn. Left in ${kept}.`
  return { replay: options.replay, messages: [about, ...messages] }
}
