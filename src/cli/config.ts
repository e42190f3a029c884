import { existsSync } from 'node:fs'
import { basename, dirname, extname, join, relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { PawlError } from '../domain/errors.ts'
import type { PawlConfig } from '../library/config.ts'
import { CliError, usageError } from './cli-error.ts'

/** What is looked for in the working directory; the first that is there counts. */
export const CONFIG_FILES = ['pawl.config.ts', 'pawl.config.mts', 'pawl.config.mjs', 'pawl.config.js'] as const

export interface LoadedConfig {
  readonly config: PawlConfig
  readonly path: string
  /** As it is named in messages. */
  readonly file: string
  /** Paths in the configuration are relative to it. */
  readonly folder: string
}

/** The file that a command would load, or null where there is none. */
export function findConfigFile(cwd: string, named: string | undefined): string | null {
  if (named === undefined) {
    return CONFIG_FILES.map((name) => join(cwd, name)).find((path) => existsSync(path)) ?? null
  }
  const path = resolve(cwd, named)
  if (existsSync(path)) return path
  throw usageError(`There is no file ${named}, which --config names.`)
}

/** Loads, and checks, what `export default defineConfig(…)` says. */
export async function loadConfigFile(path: string, cwd: string): Promise<LoadedConfig> {
  const file = relative(cwd, path).startsWith('..') ? path : relative(cwd, path) || basename(path)
  const value = await importDefault(path, file)
  const { readConfig } = await import('../library/config.ts')
  return { config: readConfig(value, file), path, file, folder: dirname(path) }
}

async function importDefault(path: string, file: string): Promise<unknown> {
  switch (extname(path)) {
    case '.ts':
    case '.mts':
    case '.js':
    case '.mjs':
      break
    default:
      throw usageError(`Expected --config to name a file that ends in .ts, .mts, .js or .mjs, got ${file}.`)
  }
  try {
    if (extname(path).endsWith('ts')) return await importTypeScript(path)
    const loaded = (await import(pathToFileURL(path).href)) as { readonly default?: unknown }
    return loaded.default
  } catch (error) {
    // What the configuration itself refused, such as a wrong option of defineJob, is told as it is, with the file.
    const message = error instanceof Error ? error.message : String(error)
    throw new CliError(`${file} could not be loaded: ${message}`, {
      code: error instanceof PawlError ? error.code : 'config_invalid',
      cause: error,
    })
  }
}

/** Node 20 cannot read TypeScript by itself. Nothing is cached on disk: a shared temporary folder is not to be trusted. */
async function importTypeScript(path: string): Promise<unknown> {
  const { createJiti } = await import('jiti')
  const jiti = createJiti(pathToFileURL(path).href, { fsCache: false, interopDefault: true })
  const loaded = await jiti.import<{ readonly default?: unknown }>(path)
  return loaded.default
}
