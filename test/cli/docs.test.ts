// docs/cli.md names every command, and its lines could be typed as they stand.
import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { Cli } from '../../src/cli/cli.ts'
import type { Io } from '../../src/cli/io.ts'
import { createProgram } from '../../src/cli/program.ts'
import { readPage } from '../docs/markdown.ts'

const page = readPage('docs/cli.md')
const program = createProgram(new Cli({ stdout: {}, stderr: {}, env: {} } as unknown as Io))

describe('docs/cli.md', () => {
  test('names every command and every verb', () => {
    const rows = page.text.split('\n').filter((line) => line.startsWith('| `pawl '))
    for (const command of program.commands.filter((each) => each.name() !== 'help')) {
      const own = rows.filter((row) => new RegExp(`\`(pawl )?${command.name()}\\b`).test(row)).join('\n')
      expect(own, command.name()).not.toBe('')
      for (const verb of command.commands) expect(own).toMatch(new RegExp(`\\b${verb.name()}\\b`))
    }
  })

  test('names every option that all commands take', () => {
    for (const { long } of program.options) expect(page.text).toContain(`\`${long}`)
  })

  const lines = page.blocks
    .filter(({ language }) => language === 'sh')
    .flatMap(({ text }) => text.split('\n'))
    .filter((line) => line.startsWith('pawl '))

  test.each(lines)('%s: the command and its options are there', (line) => {
    const words = (line.replace(/ #.*$/, '').match(/'[^']*'|\S+/g) ?? []).slice(1)
    let command: Command = program
    for (const word of words) command = command.commands.find((each) => each.name() === word) ?? command
    expect(command).not.toBe(program)
    const known = [...command.options, ...program.options].flatMap(({ short, long }) => [short, long])
    for (const flag of words.filter((word) => /^--?[a-z]/.test(word))) expect(known).toContain(flag)
  })
})
