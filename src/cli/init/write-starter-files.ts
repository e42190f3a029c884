import { existsSync, statSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { CliError } from '../cli-error.ts'
import { CONFIG_FILES } from '../config.ts'
import type { StarterFile } from './starter-files.ts'

/** Writes them all or none; what is there is overwritten only by force. */
export async function writeStarterFiles(
  folder: string,
  files: readonly StarterFile[],
  { force }: { readonly force: boolean },
): Promise<void> {
  refuseOtherConfig(folder, files)
  const taken = files.filter(({ path }) => existsSync(join(folder, path)))
  if (taken.length > 0 && !force) throw alreadyThere(taken.map(({ path }) => path))
  for (const { path } of files) refuseFileAsFolder(folder, path)
  for (const { path, text } of files) {
    const target = join(folder, path)
    try {
      await mkdir(dirname(target), { recursive: true })
      await writeFile(target, text, { flag: force ? 'w' : 'wx' })
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EEXIST') throw alreadyThere([path])
      throw new CliError(`${path} cannot be written (${code ?? String(error)}).`, { cause: error })
    }
  }
}

/** Two configurations in one folder: the one of which nobody thinks would count. */
function refuseOtherConfig(folder: string, files: readonly StarterFile[]): void {
  const own = files.map(({ path }) => path)
  const other = CONFIG_FILES.find((name) => !own.includes(name) && existsSync(join(folder, name)))
  if (other === undefined) return
  throw new CliError(`There is a configuration already: ${other}. Remove it first, or keep it.`, {
    code: 'file_exists',
  })
}

function refuseFileAsFolder(folder: string, path: string): void {
  const name = dirname(path)
  const found = statSync(join(folder, name), { throwIfNoEntry: false })
  if (found === undefined || found.isDirectory()) return
  throw new CliError(`${name} is a file, but ${path} needs a folder of that name. Move it away first.`, {
    code: 'file_exists',
  })
}

function alreadyThere(paths: readonly string[]): CliError {
  const verb = paths.length === 1 ? 'is' : 'are'
  return new CliError(`${paths.join(' and ')} ${verb} there already. Use --force to overwrite.`, {
    code: 'file_exists',
  })
}

/** Whether a module in that folder could import it. */
export function canImport(folder: string, name: string): boolean {
  try {
    createRequire(join(folder, 'pawl.config.js')).resolve(name)
    return true
  } catch {
    return false
  }
}
