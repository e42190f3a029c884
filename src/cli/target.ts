import { isAbsolute, relative, resolve } from 'node:path'
import { PawlError } from '../domain/errors.ts'
import type { StoreSource } from '../store/store.ts'
import { usageError } from './cli-error.ts'
import type { LoadedConfig } from './config.ts'

/** What a command works on, and who said so. */
export type Target = ServerTarget | StoreTarget

export interface ServerTarget {
  readonly kind: 'server'
  readonly url: string
  readonly apiKey: string | undefined
  /** Who named it: `--server` or `PAWL_SERVER`. */
  readonly from: string
  /** For messages: `the server http://127.0.0.1:4747`. */
  readonly description: string
}

export interface StoreTarget {
  readonly kind: 'store'
  readonly source: StoreSource
  /** For messages: `the store sqlite:pawl.db`. */
  readonly description: string
}

/** What was said about the target, on the command line and in the environment. */
export interface TargetOptions {
  readonly store?: string | undefined
  readonly server?: string | undefined
  readonly key?: string | undefined
}

const DEFAULT_STORE = 'sqlite:pawl.db'

/**
 * The command line comes first, then PAWL_SERVER and PAWL_STORE, then the `store` of the configuration, then pawl.db in the
 * working directory. `config` is asked only when nothing before it said anything.
 */
export async function chooseTarget(
  options: TargetOptions,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
  config: () => Promise<LoadedConfig | null>,
): Promise<Target> {
  if (options.server !== undefined && options.store !== undefined) {
    throw usageError('Expected --server or --store, got both. A command works on one of them.')
  }
  if (options.server !== undefined) return serverTarget(options.server, '--server', options.key ?? env['PAWL_API_KEY'])
  if (options.store === undefined) {
    const server = nonEmpty(env['PAWL_SERVER'])
    if (server !== undefined) {
      if (nonEmpty(env['PAWL_STORE']) !== undefined) {
        throw usageError('PAWL_SERVER and PAWL_STORE are both set. Say --server or --store, or unset one of them.')
      }
      return serverTarget(server, 'PAWL_SERVER', options.key ?? env['PAWL_API_KEY'])
    }
  }
  if (options.key !== undefined) throw usageError('--key opens a server, but no --server was given.')
  return storeTarget(options.store, env, cwd, config)
}

async function storeTarget(
  given: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  cwd: string,
  config: () => Promise<LoadedConfig | null>,
): Promise<StoreTarget> {
  if (given !== undefined) return openableStore(given, cwd, cwd, '--store')
  const fromEnv = nonEmpty(env['PAWL_STORE'])
  if (fromEnv !== undefined) return openableStore(fromEnv, cwd, cwd, 'PAWL_STORE')
  const loaded = await config()
  const store = loaded?.config.store
  if (loaded === null || store === undefined) return openableStore(DEFAULT_STORE, cwd, cwd, 'the default')
  if (typeof store === 'string') return openableStore(store, loaded.folder, cwd, `\`store\` of ${loaded.file}`)
  return { kind: 'store', source: store, description: `the store of ${loaded.file}` }
}

function serverTarget(text: string, from: string, key: string | undefined): ServerTarget {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw usageError(`Expected ${from} to be an address such as http://127.0.0.1:4747, got '${text}'.`)
  }
  if (url.username !== '' || url.password !== '') {
    throw usageError(`Expected ${from} to be an address without a password. Give the key with --key or PAWL_API_KEY.`)
  }
  if (url.search !== '' || url.hash !== '') {
    throw usageError(`Expected ${from} to be an address without a query or fragment, got '${text}'.`)
  }
  const address = `${url.origin}${url.pathname.replace(/\/+$/, '')}`
  return { kind: 'server', url: address, apiKey: readKey(key), from, description: `the server ${address}` }
}

/** What came may be nearly a key, so it is not shown. */
function readKey(key: string | undefined): string | undefined {
  if (key === undefined || key === '' || /^[!-~]+$/.test(key)) return nonEmpty(key)
  throw usageError('Expected --key or PAWL_API_KEY to be a key as `pawl keys create` shows it, without spaces.')
}

const POSTGRES = /^postgres(ql)?:/i

/** `postgres://…`, `sqlite:pawl.db`, `sqlite:/var/lib/pawl.db` or just a path, relative to the folder. */
async function openableStore(address: string, folder: string, cwd: string, from: string): Promise<StoreTarget> {
  if (POSTGRES.test(address)) return postgresTarget(address, from)
  const path = pathOf(address, from)
  const { sqlite } = await import('../stores/sqlite/index.ts')
  if (path === ':memory:') return { kind: 'store', source: sqlite(path), description: 'the store sqlite::memory:' }
  const absolute = resolve(folder, path)
  const nearby = relative(cwd, absolute)
  const shown = isAbsolute(path) || nearby.startsWith('..') ? absolute : nearby
  return { kind: 'store', source: sqlite(absolute), description: `the store sqlite:${shown}` }
}

async function postgresTarget(url: string, from: string): Promise<StoreTarget> {
  const { describeDatabase, postgres, schemaOf } = await import('../stores/postgres/index.ts')
  try {
    return { kind: 'store', source: postgres(url), description: `the store ${describeDatabase(url, schemaOf(url))}` }
  } catch (error) {
    if (!(error instanceof PawlError)) throw error
    throw usageError(`${from} is not right. ${error.message}`)
  }
}

function pathOf(address: string, from: string): string {
  const [, scheme, rest = ''] = /^([a-z][a-z0-9+.-]+):(.*)$/is.exec(address) ?? []
  if (scheme === undefined || /^:memory:$/.test(address)) return notEmpty(address, from)
  switch (scheme.toLowerCase()) {
    case 'sqlite':
      return notEmpty(withoutSlashes(rest, from), from)
    default:
      throw usageError(
        `Expected ${from} to be a store such as sqlite:pawl.db, postgres://host/database or the path of a file, got one of the unknown kind '${scheme}:'.`,
      )
  }
}

/** `sqlite:///var/lib/pawl.db` has an empty host, as URLs of files do. */
function withoutSlashes(rest: string, from: string): string {
  if (!rest.startsWith('//')) return rest
  if (rest.startsWith('///')) return rest.slice(2)
  throw usageError(`Expected ${from} to be sqlite:<file> without slashes before a relative path, got 'sqlite:${rest}'.`)
}

function notEmpty(path: string, from: string): string {
  if (path !== '') return path
  throw usageError(`Expected ${from} to name a file, as in sqlite:pawl.db, got no name.`)
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text
}
