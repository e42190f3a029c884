import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tortureFile } from '../package-root.ts'

const SOURCE = 'shim/file-shim.c'

/** One kind of call that shall fail. See `file-shim.c`. */
export interface DiskFault {
  readonly call: 'write' | 'sync' | 'open' | 'truncate' | 'unlink'
  readonly error: 'ENOSPC' | 'EIO' | 'EDQUOT' | 'EACCES' | 'EMFILE' | 'EROFS' | 'short'
  /** The N-th call of its kind from 1 on, that one and all later ones, or each with a probability. */
  readonly when:
    | { readonly at: number }
    | { readonly from: number }
    | { readonly probability: number; readonly seed: number }
  /** Only files whose names end so. */
  readonly file?: string
  /** Only while there is a file at this path. */
  readonly while?: string
}

/** Why the shim cannot be used on this machine, and what would help; null when it can. */
export function shimObstacle(): string | null {
  if (process.platform !== 'linux') return 'it stands between Pawl and the C library of Linux. Run it on Linux.'
  const { header } = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
  if (header.glibcVersionRuntime === undefined) {
    return 'this Node uses another C library than glibc. Run it on a Linux with glibc, such as Debian or Fedora.'
  }
  const { error } = spawnSync('cc', ['--version'], { stdio: 'ignore' })
  if (error !== undefined)
    return 'there is no C compiler. Install one that is called `cc`: `apt install gcc libc6-dev`.'
  return null
}

/** Compiles the shim, unless that has been done before. Returns the path of the library. */
export function compileShim(): string {
  const source = tortureFile(SOURCE)
  const digest = createHash('sha256').update(readFileSync(source)).digest('hex').slice(0, 16)
  const folder = join(tmpdir(), `pawl-shim-${process.getuid?.() ?? 0}`)
  const library = join(folder, `file-shim-${digest}.so`)
  if (existsSync(library)) return library
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  // Under another name first: somebody else may compile it at the same time, and half a library is worse than none.
  const unfinished = `${library}.${process.pid}`
  const args = ['-shared', '-fPIC', '-O2', '-Wall', '-o', unfinished, source, '-ldl', '-lpthread']
  execFileSync('cc', args, { stdio: ['ignore', 'inherit', 'inherit'] })
  renameSync(unfinished, library)
  return library
}

/** The environment of a process whose files below `folder` are watched, or fail. The folder is given without links. */
export function underShim(
  library: string,
  options: {
    readonly folder: string
    readonly trace?: string
    readonly faults?: readonly DiskFault[]
    readonly faultLog?: string
  },
): NodeJS.ProcessEnv {
  const { folder, trace, faults = [], faultLog } = options
  return {
    ...process.env,
    LD_PRELOAD: library,
    // It would write past the C library.
    UV_USE_IO_URING: '0',
    PAWL_SHIM_FOLDER: folder,
    ...(trace === undefined ? {} : { PAWL_SHIM_TRACE: trace }),
    ...(faultLog === undefined ? {} : { PAWL_SHIM_FAULT_LOG: faultLog }),
    ...(faults.length === 0 ? {} : { PAWL_SHIM_FAULTS: faults.map(inShort).join(';') }),
  }
}

function inShort(fault: DiskFault): string {
  const { when } = fault
  const parts: string[] = [fault.call, fault.error]
  if ('at' in when) parts.push(`at=${when.at}`)
  else if ('from' in when) parts.push(`from=${when.from}`)
  else parts.push(`p=${when.probability}`, `seed=${when.seed}`)
  if (fault.file !== undefined) parts.push(`file=${fault.file}`)
  if (fault.while !== undefined) parts.push(`while=${fault.while}`)
  return parts.join(':')
}
