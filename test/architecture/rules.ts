import { basename } from 'node:path'
import type { Import, SourceFile } from './source-file.ts'

/**
 * The rules of the source tree. Each takes what it looks at and returns one sentence per violation, saying where it is
 * and what to do. The reasons are in ARCHITECTURE.md.
 */

const FILE_LINES_MAX = 600

interface Layer {
  /** Folders under src/ whose code this layer may import. Its own folder is always allowed. */
  readonly imports: readonly string[]
  /** Folders of which it may import types only. */
  readonly types?: readonly string[]
}

const LAYERS: Readonly<Record<string, Layer>> = {
  'index.ts': { imports: ['library', 'domain'], types: ['platform', 'engine', 'operations', 'store'] },
  domain: { imports: [] },
  platform: { imports: [] },
  store: { imports: ['domain'] },
  stores: { imports: ['domain', 'store', 'stores/shared'] },
  engine: { imports: ['domain', 'store', 'platform'] },
  operations: { imports: ['domain', 'store', 'engine', 'platform'] },
  library: { imports: ['operations', 'engine', 'store', 'domain', 'platform'] },
  http: { imports: ['operations', 'platform', 'domain'], types: ['library', 'engine', 'store', 'client'] },
  client: { imports: ['platform'], types: ['http', 'domain'] },
  cli: {
    imports: ['client', 'http', 'library', 'operations', 'stores/sqlite', 'stores/postgres', 'platform', 'domain'],
    types: ['store'],
  },
  testing: { imports: ['library', 'engine', 'store', 'stores/sqlite', 'domain', 'platform'] },
}

/** Each database driver belongs to the one store folder that may import it. */
const DRIVERS: Readonly<Record<string, string>> = {
  'node:sqlite': 'stores/sqlite',
  '@photostructure/sqlite': 'stores/sqlite',
  'better-sqlite3': 'stores/sqlite',
  pg: 'stores/postgres',
}

/** What domain/ may take from Node: nothing that reads a clock, a file or the network. */
const PURE_BUILTINS = ['node:assert', 'node:assert/strict', 'node:buffer', 'node:crypto', 'node:util']

export function wrongImports(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => file.imports.map((found) => wrongImport(file, found)).filter((line) => line !== null))
}

function wrongImport(file: SourceFile, found: Import): string | null {
  const where = `${file.path}:${found.line} imports '${found.specifier}'`
  const from = folderOf(file.path)
  if (found.path === null) return wrongPackage(from, where, found.specifier)
  if (!found.path.startsWith('src/')) return `${where}, which is outside src/. Move what it needs into src/.`
  const to = folderOf(found.path)
  const layer = layerOf(from)
  // A folder without a layer is the business of `unknownFolders`.
  if (layer === undefined || from === to || layer.imports.includes(to)) return null
  if (!layer.types?.includes(to)) {
    return `${where}, but src/${from} may import only ${listOf(layer)}. Move the code, or pass the value in as an argument.`
  }
  return found.isTypeOnly
    ? null
    : `${where}, but src/${from} may import only types of src/${to}. Write \`import type\`.`
}

function wrongPackage(from: string, where: string, specifier: string): string | null {
  const owner = DRIVERS[specifier]
  if (owner !== undefined && owner !== from)
    return `${where}, a driver that only src/${owner} may import. Go through the store.`
  if (/^pawl($|\/)/.test(specifier)) return `${where}, its own package. Import the file by a relative path.`
  if (from !== 'domain' || !specifier.startsWith('node:') || PURE_BUILTINS.includes(specifier)) return null
  return `${where}, but src/domain is pure: no clock, no input or output. Do it in src/platform and pass the result in.`
}

function listOf(layer: Layer): string {
  const types = (layer.types ?? []).map((folder) => `${folder} (types)`)
  return [...layer.imports, ...types].join(', ') || 'nothing of ours'
}

/** `stores/sqlite` for a file of that store, else the first folder under src/, or the name of a file right in src/. */
function folderOf(path: string): string {
  const [, first = '', second = ''] = path.split('/')
  return first === 'stores' ? `stores/${second}` : first
}

function layerOf(folder: string): Layer | undefined {
  return LAYERS[folder.startsWith('stores/') ? 'stores' : folder]
}

export function unknownFolders(paths: readonly string[]): string[] {
  const folders = new Set(paths.filter((path) => path.endsWith('.ts')).map(folderOf))
  return [...folders]
    .filter((folder) => layerOf(folder) === undefined || /^stores\/.*\.ts$/.test(folder))
    .map(
      (folder) =>
        `src/${folder} has no place in the table of layers. Move it, or add it to LAYERS in ${HERE} and to ARCHITECTURE.md.`,
    )
}

const HERE = 'test/architecture/rules.ts'

/** What the stores have in common, without a database: no store. */
const SHARED = 'shared'

export function unevenStores(paths: readonly string[]): string[] {
  const stores = new Set(
    paths
      .map((path) => path.match(/^src\/stores\/([^/]+)\//)?.[1])
      .filter((name) => name !== undefined && name !== SHARED),
  )
  return [...stores].flatMap((store) => {
    const expected = [
      `${store}-store.ts`,
      'index.ts',
      'connection.ts',
      'rows.ts',
      'errors.ts',
      'statements/',
      'migrations/',
    ]
    const missing = expected.filter((name) => !paths.some((path) => isOrIsIn(path, `src/stores/${store}/${name}`)))
    return missing.map(
      (name) => `src/stores/${store}/${name} is missing. Every store has the same files: ${expected.join(', ')}.`,
    )
  })
}

function isOrIsIn(path: string, target: string): boolean {
  return target.endsWith('/') ? path.startsWith(target) : path === target
}

export function longFiles(files: readonly SourceFile[]): string[] {
  return files
    .filter((file) => file.lineCount > FILE_LINES_MAX)
    .map(
      (file) =>
        `${file.path} has ${file.lineCount} lines; at most ${FILE_LINES_MAX} are allowed. Find the missing noun and split it.`,
    )
}

const EMPTY_WORDS = ['util', 'utils', 'helper', 'helpers', 'common', 'misc', 'manager', 'managers']
const KEBAB_CASE = /^[a-z0-9]+(-[a-z0-9]+)*$/

export function badNames(paths: readonly string[]): string[] {
  return paths.filter((path) => basename(path) !== 'README.md').flatMap(badNamesIn)
}

function badNamesIn(path: string): string[] {
  // Only the extension goes: `job.types.ts` is not kebab-case.
  const parts = path
    .replace(/\.[a-z]+$/, '')
    .split('/')
    .slice(1)
  const notKebab = parts.filter((part) => !KEBAB_CASE.test(part))
  const empty = parts.filter((part) => part.split('-').some((word) => EMPTY_WORDS.includes(word)))
  return [
    ...notKebab.map(
      (part) => `${path}: '${part}' is not kebab-case. Name the file after its main export, like job-order.ts.`,
    ),
    ...empty.map((part) => `${path}: '${part}' says nothing about what is inside. Name it after what it does.`),
  ]
}

export function missingExports(packageJson: { exports?: unknown; bin?: unknown }, paths: readonly string[]): string[] {
  const targets = [...stringsIn(packageJson.exports), ...stringsIn(packageJson.bin)]
  const sources = new Set(targets.filter((target) => target !== './package.json').map(sourceOf))
  return [...sources]
    .filter((source) => !paths.includes(source))
    .map(
      (source) => `package.json has an entry point made from ${source}, which is missing. Add it, or remove the entry.`,
    )
}

/** `./dist/index.js` and `./dist/index.d.ts` are both made from `src/index.ts`. */
function sourceOf(target: string): string {
  return target.replace(/^(\.\/)?dist\//, 'src/').replace(/(\.d\.ts|\.js)$/, '.ts')
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : []
}

const OWN_TIME = ['src/platform/', 'src/testing/', 'src/stores/']
const TIMER_MODULES = ['node:timers', 'node:timers/promises', 'timers', 'timers/promises']
const TIME_AND_CHANCE =
  /^(globalThis\.)?(Date\.now|performance\.now|Math\.random|setTimeout\(\)|setInterval\(\)|new Date\(\))$|^globalThis\.(setTimeout|setInterval)$/

export function hiddenTime(files: readonly SourceFile[]): string[] {
  const bound = files.filter((file) => !OWN_TIME.some((folder) => file.path.startsWith(folder)))
  return bound.flatMap((file) => {
    const timers = file.imports.filter((found) => TIMER_MODULES.includes(found.specifier))
    const mentions = file.mentions.filter((mention) => TIME_AND_CHANCE.test(mention.name))
    return [...timers.map((found) => ({ name: found.specifier, line: found.line })), ...mentions].map(
      ({ name, line }) =>
        `${file.path}:${line} uses ${name}. Time and chance are arguments: take the clock, timers or random of src/platform as a parameter.`,
    )
  })
}

/** The page knows the server by its API alone: of our sources it may take the types of the contract, nothing that runs. */
export function dashboardImports(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => {
    const wrong = file.imports.filter(({ path, isTypeOnly }) => {
      if (path === null || path.startsWith('dashboard/')) return false
      return !isTypeOnly || !/^src\/(client|http\/contract)\//.test(path)
    })
    return wrong.map(
      ({ specifier, line }) =>
        `${file.path}:${line} imports '${specifier}'. It may import types of src/client and src/http/contract only.`,
    )
  })
}

const TEST_FUNCTIONS = ['test', 'it', 'describe', 'suite']

export function switchedOffTests(files: readonly SourceFile[]): string[] {
  return files.flatMap((file) => {
    const found = file.mentions.filter(({ name }) => isSwitchedOff(name.split('.')))
    return found.map(({ name, line }) => `${file.path}:${line} uses ${name}. Remove it: every test runs, every time.`)
  })
}

function isSwitchedOff(names: readonly string[]): boolean {
  return ['only', 'skip'].includes(names.at(-1) ?? '') && names.some((name) => TEST_FUNCTIONS.includes(name))
}
