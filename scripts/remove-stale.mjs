// After a build: removes what earlier builds left in dist/ for files that src/ no longer has. The folder itself is never
// emptied, so that a process that runs from it is not cut off.
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

for (const entry of readdirSync(join(root, 'dist'), { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue
  const built = join(entry.parentPath ?? entry.path, entry.name)
  // What Vite has built is its own to clear.
  if (built.startsWith(join(root, 'dist', 'dashboard', sep))) continue
  const source = built.replace(join(root, 'dist'), join(root, 'src')).replace(/(\.d)?\.[jt]s$/, '.ts')
  if (!existsSync(source)) rmSync(built)
}
