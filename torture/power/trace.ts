import { readFileSync } from 'node:fs'

/** What a process did to one file, in the order in which it was done. Names are relative to the folder; '' is the folder. */
export type TraceRecord = { readonly name: string } & (
  | { readonly kind: 'created' | 'removed' | 'sync-begun' | 'sync-ended' }
  | { readonly kind: 'written'; readonly offset: number; readonly bytes: Buffer }
  | { readonly kind: 'truncated'; readonly size: number }
  | { readonly kind: 'allocated'; readonly end: number }
  | { readonly kind: 'renamed'; readonly to: string }
  | { readonly kind: 'mapped'; readonly isWritable: boolean }
)

/** The kinds by their numbers, as `shim/file-shim.c` writes them. */
const KINDS = [
  null,
  'created',
  'written',
  'truncated',
  'sync-begun',
  'sync-ended',
  'removed',
  'renamed',
  'mapped',
  'allocated',
] as const

const HEAD_BYTES = 24

/** Reads what the shim wrote down. */
export function readTrace(file: string): TraceRecord[] {
  const all = readFileSync(file)
  const records: TraceRecord[] = []
  for (let at = 0; at < all.length; at += 4 + all.readUInt32LE(at)) records.push(readRecord(all, at))
  return records
}

function readRecord(all: Buffer, at: number): TraceRecord {
  const kind = KINDS[all.readUInt8(at + 4)]
  const nameEnd = at + HEAD_BYTES + all.readUInt16LE(at + 6)
  const name = all.toString('utf8', at + HEAD_BYTES, nameEnd)
  const offset = Number(all.readBigUInt64LE(at + 8))
  const size = Number(all.readBigUInt64LE(at + 16))
  const rest = all.subarray(nameEnd, at + 4 + all.readUInt32LE(at))
  switch (kind) {
    case 'created':
    case 'removed':
    case 'sync-begun':
    case 'sync-ended':
      return { kind, name }
    case 'written':
      return { kind, name, offset, bytes: rest }
    case 'truncated':
      return { kind, name, size }
    case 'allocated':
      return { kind, name, end: offset + size }
    case 'renamed':
      return { kind, name, to: rest.toString('utf8') }
    case 'mapped':
      return { kind, name, isWritable: all.readUInt8(at + 5) === 1 }
    case null:
    case undefined:
    default:
      throw new Error(`Expected the trace to have a known kind at byte ${at}, got ${all.readUInt8(at + 4)}.`)
  }
}
