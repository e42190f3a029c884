import { basename, extname } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CodeBlock, Page } from './markdown.ts'
import { Workspace } from './workspace.ts'

// In README.md and docs/ a block of TypeScript or JavaScript is either a program (`run`) or a file that a program of the
// same page needs (`file=name`). A block `text output` right after a program is what it prints.

interface Program {
  readonly block: CodeBlock
  readonly path: string
  readonly output: string | null
}

export interface Surroundings {
  /** What is installed besides Pawl and zod. */
  readonly modules?: readonly string[]
  readonly env?: () => Readonly<Record<string, string>>
  /** Words of blocks that are only shown, because what they need is not installed here. */
  readonly shown?: readonly string[]
}

/** Checks the types of all programs of these pages, runs them, and compares what they print. */
export function describePrograms(title: string, pages: readonly Page[], surroundings: Surroundings = {}): void {
  const { modules = [], env = () => ({}), shown = [] } = surroundings
  const programs = pages.flatMap(programsOf)
  const workspace = new Workspace(modules)

  beforeAll(() => {
    for (const { block, path } of programs) workspace.write(path, block.text)
    for (const page of pages) {
      for (const block of page.blocks) {
        const name = fileNameOf(block)
        if (name !== null) workspace.write(`${folderOf(page)}/${name}`, block.text)
      }
    }
  })

  afterAll(() => workspace.remove())

  describe(title, () => {
    it('is marked as a program or as a file of one, block by block', () => {
      const unmarked = pages
        .flatMap((page) => page.blocks)
        .filter(({ language }) => ['ts', 'js', 'mts', 'mjs', 'typescript', 'javascript'].includes(language))
        .filter(({ words }) => !words.some((word) => word === 'run' || shown.includes(word)))
        .filter((block) => fileNameOf(block) === null)
      expect(unmarked.map(({ path, line }) => `${path}:${line}`)).toEqual([])
    })

    it('has correct types', () => {
      expect(workspace.compile()).toBe('')
    })

    it.each(programs.map((program) => [`${program.block.path}:${program.block.line}`, program] as const))(
      'runs: %s',
      async (_, { path, output }) => {
        const ended = await workspace.run(path, env())
        expect(ended).toMatchObject({ code: 0, stderr: '' })
        if (output !== null) expect(ended.stdout).toBe(output)
      },
    )
  })
}

function programsOf(page: Page): Program[] {
  return page.blocks.flatMap((block, index) => {
    if (!block.words.includes('run') || !['ts', 'js'].includes(block.language)) return []
    const next = page.blocks[index + 1]
    const output = next?.words.includes('output') ? next.text : null
    return [{ block, path: `${folderOf(page)}/line-${block.line}.m${block.language}`, output }]
  })
}

function folderOf(page: Page): string {
  return basename(page.path, extname(page.path)).toLowerCase()
}

function fileNameOf(block: CodeBlock): string | null {
  return block.words.find((word) => word.startsWith('file='))?.slice('file='.length) ?? null
}
