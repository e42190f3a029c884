import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageRoot } from '../package-root.ts'
import type { Bug, Edit } from './bug.ts'

const COPIED = ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'dist', 'torture', 'src']

/** What a bug leaves unused may stay. */
const COMPILER_OPTIONS = ['-p', 'tsconfig.build.json', '--noUnusedLocals', 'false', '--noUnusedParameters', 'false']

/** Pawl with a planted bug, and the campaigns beside it, in a folder of their own. */
export class PlantedPackage {
  readonly folder: string

  private constructor(folder: string) {
    this.folder = folder
  }

  static async plant(bug: Bug): Promise<PlantedPackage> {
    const planted = new PlantedPackage(mkdtempSync(join(tmpdir(), 'pawl-bug-')))
    try {
      for (const name of COPIED) cpSync(join(packageRoot, name), join(planted.folder, name), { recursive: true })
      symlinkSync(join(packageRoot, 'node_modules'), join(planted.folder, 'node_modules'))
      for (const edit of bug.edits) {
        const path = join(planted.folder, 'src', edit.file)
        writeFileSync(path, edited(readFileSync(path, 'utf8'), edit, bug))
      }
      await planted.#build()
      return planted
    } catch (error) {
      planted.remove()
      throw error
    }
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** Runs a campaign on it. What it says comes back with how it ended. */
  torture(
    args: readonly string[],
    signal: AbortSignal,
  ): Promise<{ readonly code: number | null; readonly output: string }> {
    return run(process.execPath, [join(this.folder, 'torture', 'dist', 'main.js'), ...args], this.folder, signal)
  }

  async #build(): Promise<void> {
    const compiler = join(packageRoot, 'node_modules', '.bin', 'tsc')
    const { code, output } = await run(compiler, COMPILER_OPTIONS, this.folder)
    if (code !== 0) throw new Error(`The planted bug does not compile:\n${output}`)
  }
}

/** The text with the bug in it. A bug whose place is gone, or is no longer the only one, has to be planted anew. */
export function edited(text: string, { file, find, replace }: Edit, { name }: Bug): string {
  const count = text.split(find).length - 1
  if (count !== 1)
    throw new Error(`The bug ${name} expects its text once in src/${file}, but it is there ${count} times.`)
  return text.replace(find, () => replace)
}

function run(
  command: string,
  args: readonly string[],
  cwd: string,
  signal?: AbortSignal,
): Promise<{ readonly code: number | null; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
    const end = () => child.kill('SIGINT')
    signal?.addEventListener('abort', end)
    let output = ''
    child.stdout.on('data', (text) => {
      output += String(text)
    })
    child.stderr.on('data', (text) => {
      output += String(text)
    })
    child.once('error', reject)
    child.once('close', (code) => {
      signal?.removeEventListener('abort', end)
      resolve({ code, output })
    })
  })
}
