import { execFileSync, spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ROOT } from './markdown.ts'

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const PROGRAM_TIMEOUT_MS = 25_000

/**
 * A folder like that of a new user: Pawl and zod are installed (as links), and nothing else of ours is near. TypeScript
 * is checked as strictly as here and then emitted by the same tool, so that nothing else is needed to run it.
 */
export class Workspace {
  readonly folder = mkdtempSync(join(tmpdir(), 'pawl-docs-'))

  /** `others`: what else the user has installed. */
  constructor(others: readonly string[] = []) {
    const modules = join(this.folder, 'node_modules')
    mkdirSync(join(modules, '@photostructure'), { recursive: true })
    symlinkSync(ROOT, join(modules, 'pawl'))
    for (const name of ['zod', '@types', '@photostructure/sqlite', ...others]) {
      symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
    }
    // Emitted files lie beside their sources, so that modules find each other as they do for the user.
    const compilerOptions = {
      target: 'es2023',
      lib: ['es2023', 'esnext.disposable'],
      module: 'nodenext',
      types: ['node'],
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
    }
    this.write('tsconfig.json', JSON.stringify({ compilerOptions, include: ['**/*.mts', '**/*.ts'] }))
    this.write('package.json', '{ "private": true, "type": "module" }')
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true })
    writeFileSync(join(this.folder, path), text)
  }

  copy(from: string, path: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true })
    copyFileSync(from, join(this.folder, path))
  }

  /** Checks and emits everything. Returns what the compiler says; empty when it is content. */
  compile(): string {
    try {
      execFileSync(join(ROOT, 'node_modules', '.bin', 'tsc'), ['-p', '.'], { cwd: this.folder, stdio: 'pipe' })
      return ''
    } catch (error) {
      return String((error as { stdout?: Buffer }).stdout ?? error)
    }
  }

  /** Runs a program by the path of its source, in a new folder of its own. */
  run(path: string, env: Readonly<Record<string, string>> = {}): Promise<Ended> {
    const script = join(this.folder, path.replace(/\.mts$/, '.mjs').replace(/\.ts$/, '.js'))
    const cwd = mkdtempSync(join(this.folder, 'cwd-'))
    return runProgram(process.execPath, [script], cwd, env)
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export function runProgram(
  program: string,
  args: readonly string[],
  cwd: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  // Not as inside vitest, but as from a shell.
  const { NODE_OPTIONS: _, VITEST: __, NODE_ENV: ___, ...plain } = process.env
  const env = { ...plain, ...more }
  const child = spawn(program, args, { cwd, env, timeout: PROGRAM_TIMEOUT_MS, stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
}
