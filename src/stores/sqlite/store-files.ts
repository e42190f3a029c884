import { statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { StoreFiles } from '../../store/checks.ts'

/** What the files of a database take, and what the disk has left for them. */
export function measureFiles(path: string): StoreFiles {
  const disk = statfsSync(dirname(path))
  return {
    path,
    bytes: sizeOf(path),
    logBytes: sizeOf(`${path}-wal`),
    freeBytes: disk.bavail * disk.bsize,
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
