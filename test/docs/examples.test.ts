import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ROOT } from './markdown.ts'
import { Workspace } from './workspace.ts'

// Each example ends by itself and checks with `assert` that what it shows has happened. Files in folders below are parts
// of examples.

const folder = join(ROOT, 'examples')
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.m?[jt]s$/.test(name))
/** Those that need a PostgreSQL server are run by postgres-page.test.ts. */
const examples = files.filter((name) => !/[\\/]/.test(name) && !name.startsWith('postgres'))
const workspace = new Workspace()

beforeAll(() => {
  for (const name of files) workspace.copy(join(folder, name), `examples/${name}`)
})

afterAll(() => workspace.remove())

describe('the examples', () => {
  it('have correct types', () => {
    expect(workspace.compile()).toBe('')
  })

  it.each(examples)('%s runs to its end', async (name) => {
    expect(await workspace.run(`examples/${name}`)).toMatchObject({ code: 0, stderr: '' })
  })
})
