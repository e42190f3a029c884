import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

export interface Statement {
  readonly name: string
  /** Below src/stores/postgres/statements. */
  readonly file: string
  readonly sql: string
}

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const STATEMENTS = 'src/stores/postgres/statements'

/**
 * Every statement that stands in the source as a constant, whole, with what is put into it. They are not exported, so a
 * copy of the source is made in which they are.
 */
export async function statementConstants(): Promise<Statement[]> {
  const copy = mkdtempSync(join(tmpdir(), 'pawl-statements-'))
  try {
    cpSync(join(ROOT, 'src'), join(copy, 'src'), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
    const folder = join(copy, STATEMENTS)
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
    const names = new Map(files.sort().map((file) => [file, exportConstants(join(folder, file))]))
    const found: Statement[] = []
    for (const [file, constants] of names) {
      const module = (await import(pathToFileURL(join(folder, file)).href)) as Record<string, unknown>
      for (const name of constants) {
        const sql = module[name]
        if (isStatement(sql)) found.push({ name, file, sql })
      }
    }
    return found
  } finally {
    rmSync(copy, { recursive: true })
  }
}

/** What is exported already is a piece of statements elsewhere. */
function exportConstants(path: string): string[] {
  const names: string[] = []
  const source = readFileSync(path, 'utf8').replace(/^const ([A-Z][A-Z0-9_]*)\b/gm, (_, name: string) => {
    names.push(name)
    return `export const ${name}`
  })
  writeFileSync(path, source)
  return names
}

function isStatement(value: unknown): value is string {
  return typeof value === 'string' && /^\s*(select|insert|update|delete|with)\s/.test(value)
}
