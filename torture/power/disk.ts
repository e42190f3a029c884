// What of a trace is on the disk for certain, and what may be.
//
// The model: a file's bytes are safe once a sync of it has ended that began after they were written. Until then each write
// may have reached the disk or not, whatever became of the others, of the same file or of another; and of one write any
// sectors of 512 bytes may have, but a sector is written whole, and bytes beside the written ones do not change. A change of
// size is kept or not like a write. New and removed names reach the disk in their order, as with the journals of ext4 and
// xfs; a sync of a file brings its name along, a sync of the folder all names. Nothing that was synced is ever lost: a disk
// that lies about that is not in the model.
import type { TraceRecord } from './trace.ts'

/** A change of a file's content. Its number says when it was made, among all of them. */
export type Change =
  | { readonly kind: 'write'; readonly number: number; readonly offset: number; readonly bytes: Buffer }
  /** To this size. */
  | { readonly kind: 'size'; readonly number: number; readonly size: number }
  /** To this size at least. */
  | { readonly kind: 'room'; readonly number: number; readonly end: number }

/** What became of a change: the bytes from `start` up to `end` of the file, for those sectors of a write that were kept. */
export type Fate = 'kept' | 'dropped' | readonly { readonly start: number; readonly end: number }[]

type NameChange =
  | { readonly kind: 'created'; readonly number: number; readonly name: string; readonly file: DiskFile }
  | { readonly kind: 'removed'; readonly number: number; readonly name: string }
  | { readonly kind: 'renamed'; readonly number: number; readonly name: string; readonly to: string }

/** One file, whatever it is called. */
export class DiskFile {
  readonly #safe = new Content()
  #pending: Change[] = []
  /** The number of the next change when each sync began that has not ended. */
  readonly #syncs: number[] = []
  /** Of the last change of its name. */
  namedAt = 0
  #version = 0

  /** What is not safe yet, oldest first. */
  get pending(): readonly Change[] {
    return this.#pending
  }

  /** Changes whenever what is safe does. */
  get version(): number {
    return this.#version
  }

  change(change: Change): void {
    this.#pending.push(change)
  }

  beginSync(number: number): void {
    this.#syncs.push(number)
  }

  /** Of several syncs at once any may have ended. The first to begin is the one that promises least. */
  endSync(): void {
    const until = this.#syncs.shift()
    if (until === undefined) throw new Error('Expected a sync to begin before it ends.')
    const kept = this.#pending.findIndex(({ number }) => number >= until)
    const safe = this.#pending.splice(0, kept === -1 ? this.#pending.length : kept)
    for (const change of safe) this.#safe.apply(change, 'kept')
    if (safe.length > 0) this.#version++
  }

  /** Its bytes if this became of what is not safe. */
  contentAfter(fates: ReadonlyMap<Change, Fate>): Buffer {
    const content = this.#safe.copy()
    for (const change of this.#pending) content.apply(change, fates.get(change) ?? 'dropped')
    return content.bytes
  }
}

class Content {
  #room = Buffer.alloc(0)
  #size = 0

  get bytes(): Buffer {
    return this.#room.subarray(0, this.#size)
  }

  copy(): Content {
    const copy = new Content()
    // Room for what is added to it: a copy is made for each image.
    copy.#room = Buffer.alloc(this.#size + 65_536)
    this.#room.copy(copy.#room, 0, 0, this.#size)
    copy.#size = this.#size
    return copy
  }

  apply(change: Change, fate: Fate): void {
    if (fate === 'dropped') return
    switch (change.kind) {
      case 'size':
        return this.#resize(change.size)
      case 'room':
        return this.#resize(Math.max(this.#size, change.end))
      case 'write': {
        const { offset, bytes } = change
        const parts = fate === 'kept' ? [{ start: offset, end: offset + bytes.length }] : fate
        for (const { start, end } of parts) {
          this.#resize(Math.max(this.#size, end))
          bytes.copy(this.#room, start, start - offset, end - offset)
        }
      }
    }
  }

  #resize(size: number): void {
    if (size < this.#size) this.#room.fill(0, size, this.#size)
    if (size > this.#room.length) {
      const room = Buffer.alloc(Math.max(size, this.#room.length * 2))
      this.#room.copy(room)
      this.#room = room
    }
    this.#size = size
  }
}

/** The folder of a trace, as far as the trace was followed. */
export class Disk {
  /** As the process sees it. */
  readonly #names = new Map<string, DiskFile>()
  readonly #safeNames = new Map<string, DiskFile>()
  #pendingNames: NameChange[] = []
  readonly #folderSyncs: number[] = []
  #next = 1

  follow(record: TraceRecord): void {
    const number = this.#next++
    const { name } = record
    const file = this.#names.get(name)
    switch (record.kind) {
      case 'created':
        return this.#create(name, number)
      case 'removed':
        this.#names.delete(name)
        this.#pendingNames.push({ kind: 'removed', number, name })
        return
      case 'renamed':
        if (file === undefined) return
        this.#names.delete(name)
        this.#names.set(record.to, file)
        file.namedAt = number
        this.#pendingNames.push({ kind: 'renamed', number, name, to: record.to })
        return
      case 'written':
        return file?.change({ kind: 'write', number, offset: record.offset, bytes: record.bytes })
      case 'truncated':
        return file?.change({ kind: 'size', number, size: record.size })
      case 'allocated':
        return file?.change({ kind: 'room', number, end: record.end })
      case 'sync-begun':
        if (name === '') this.#folderSyncs.push(number)
        else file?.beginSync(number)
        return
      case 'sync-ended':
        if (name === '') return this.#settleNames(this.#folderSyncs.shift() ?? 0)
        file?.endSync()
        return this.#settleNames((file?.namedAt ?? 0) + 1)
      case 'mapped':
        return
    }
  }

  /** How many changes of names are not safe yet. Those that are kept are the first ones. */
  get pendingNames(): number {
    return this.#pendingNames.length
  }

  /** The files there are if so many changes of names have reached the disk. */
  namesAfter(kept: number): Map<string, DiskFile> {
    const names = new Map(this.#safeNames)
    for (const change of this.#pendingNames.slice(0, kept)) rename(names, change)
    return names
  }

  #create(name: string, number: number): void {
    const file = new DiskFile()
    file.namedAt = number
    this.#names.set(name, file)
    this.#pendingNames.push({ kind: 'created', number, name, file })
  }

  #settleNames(until: number): void {
    while (this.#pendingNames[0] !== undefined && this.#pendingNames[0].number < until) {
      rename(this.#safeNames, this.#pendingNames.shift() as NameChange)
    }
  }
}

function rename(names: Map<string, DiskFile>, change: NameChange): void {
  const file = names.get(change.name)
  switch (change.kind) {
    case 'created':
      names.set(change.name, change.file)
      return
    case 'removed':
      names.delete(change.name)
      return
    case 'renamed':
      names.delete(change.name)
      if (file !== undefined) names.set(change.to, file)
  }
}
