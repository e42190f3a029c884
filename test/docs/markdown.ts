import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** A fenced block. The words after its language say what the tests do with it. */
export interface CodeBlock {
  /** Where it is, relative to the repository. */
  readonly path: string
  readonly line: number
  readonly language: string
  readonly words: readonly string[]
  readonly text: string
}

export interface Page {
  readonly path: string
  readonly text: string
  readonly blocks: readonly CodeBlock[]
}

/** Every Markdown page of the project. */
export function readPages(): Page[] {
  const folders = ['.', 'docs', 'src', 'examples']
  return folders
    .flatMap((folder) => readdirSync(join(ROOT, folder)).map((name) => join(folder, name)))
    .filter((path) => path.endsWith('.md'))
    .map(readPage)
}

export function readPage(path: string): Page {
  const text = readFileSync(join(ROOT, path), 'utf8')
  return { path: relative('.', path), text, blocks: findBlocks(path, text) }
}

function findBlocks(path: string, text: string): CodeBlock[] {
  const blocks: CodeBlock[] = []
  const lines = text.split('\n')
  for (let index = 0; index < lines.length; index++) {
    const opening = /^```(\S*)\s*(.*)$/.exec(lines[index] ?? '')
    if (opening === null) continue
    const end = lines.indexOf('```', index + 1)
    if (end === -1) throw new Error(`${path}:${index + 1} opens a block that never ends.`)
    blocks.push({
      path: relative('.', path),
      line: index + 1,
      language: opening[1] ?? '',
      words: (opening[2] ?? '').split(/\s+/).filter((word) => word !== ''),
      text: `${lines.slice(index + 1, end).join('\n')}\n`,
    })
    index = end
  }
  return blocks
}

/** The page without its blocks, for looking at prose. */
export function proseOf(page: Page): string {
  return page.text.replace(/^```[\s\S]*?^```$/gm, '')
}

/** The anchors that GitHub makes of a page's headings. */
export function anchorsOf(page: Page): Set<string> {
  const headings = [...proseOf(page).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) => heading)
  return new Set(
    headings.map((heading) =>
      heading
        .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replaceAll(' ', '-'),
    ),
  )
}
