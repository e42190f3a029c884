import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the package that is tortured, whether this runs as it was written or as it was built. */
export const packageRoot: string = findRoot(dirname(fileURLToPath(import.meta.url)))

/** A file of torture/ that is not built: a script for a process of its own, or a source in C. */
export function tortureFile(path: string): string {
  return join(packageRoot, 'torture', path)
}

function findRoot(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : findRoot(dirname(folder))
}
