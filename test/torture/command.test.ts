import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { CAMPAIGNS } from '../../torture/campaigns.ts'
import type { Summary } from '../../torture/run-campaign.ts'
import { runScript, runShort, torture } from './stage.ts'

// `npm run torture -- <campaign>` as a shell sees it: what it prints, and with what it ends.

/** The same command, with campaigns of which it is known how they end. */
const KNOWN = fileURLToPath(new URL('fixtures/campaigns.mjs', import.meta.url))

test('without a campaign, it lists them all, with how much they do', async () => {
  const [bare, asked] = await Promise.all([torture(), torture('--help')])
  expect(bare).toEqual(asked)
  expect(bare).toMatchObject({ exitCode: 0, errors: '' })
  for (const { name, about, amount } of CAMPAIGNS) {
    expect(bare.output).toContain(`  ${name} `)
    expect(bare.output).toContain(about)
    expect(bare.output).toContain(`[--${amount.name} ${amount.usual}]`)
  }
})

test('an unknown campaign is refused with 2, and told which there are', async () => {
  const { exitCode, output, errors } = await torture('kil')
  expect(exitCode).toBe(2)
  expect(output).toBe('')
  expect(errors).toContain(`Expected a campaign (${CAMPAIGNS.map(({ name }) => name).join(', ')}), got \`kil\`.`)
})

test.for([
  { args: ['--seeds', 'many'], message: 'Expected --seeds to be a number from 0 on, got `many`.' },
  { args: ['--seed', '-1'], message: '--seed' },
  { args: ['--lives', '9'], message: '--lives' },
  { args: ['--store', 'postgres'], message: 'Expected no --store: this campaign knows its store, got `postgres`.' },
])('`sim $args` is refused with 2, and told why', async ({ args, message }) => {
  const { exitCode, output, errors } = await torture('sim', ...args)
  expect(exitCode).toBe(2)
  expect(output).toBe('')
  expect(errors).toContain(message)
  expect(errors).toContain('Usage: npm run torture')
})

test('what was violated is told with the command that shows it again, and ends with 1', async () => {
  const { exitCode, output, errors } = await runScript(KNOWN, ['fails', '--seed', '7'])
  expect(exitCode).toBe(1)
  expect(errors).toContain('Again with: npm run torture -- fails --seeds 5 --seed 7')
  expect(output).toContain('✗ npm run torture -- fails --seed 7\n    I4: a Job was executed twice')
  expect(output).toContain('VIOLATED: 1 of 1 trials.')
})

test('with --json, the standard output is one object, whatever was found', async () => {
  const { exitCode, output, errors } = await runScript(KNOWN, ['fails', '--seed', '7', '--json'])
  expect(exitCode).toBe(1)
  expect(errors).toBe('')
  const violations = [{ replay: 'fails --seed 7', messages: ['I4: a Job was executed twice'] }]
  expect(JSON.parse(output)).toMatchObject({ campaign: 'fails', seed: 7, isCutShort: false, outcome: { violations } })
})

test('one that is not possible on this machine says why, and ends with 2', async () => {
  const { exitCode, output, errors } = await runScript(KNOWN, ['cannot'])
  expect(exitCode).toBe(2)
  expect(output).toBe('')
  expect(errors).toContain('cannot cannot be run here: there is no moon')
})

test('Ctrl-C ends it early, with a summary, and with 0 when nothing was violated', async () => {
  const { exitCode, output } = await runScript(KNOWN, ['waits'], 'Again with')
  expect(exitCode).toBe(0)
  expect(output).toContain('ended early')
  expect(output).toContain('Nothing was violated.')
})

test.for(['soak', 'fuzz', 'kill'])('a real campaign ends early on Ctrl-C, too: %s', async (campaign) => {
  const main = fileURLToPath(new URL('../../torture/dist/main.js', import.meta.url))
  const { exitCode, output, errors } = await runScript(main, [campaign], 'Again with')
  // In one, so that a failure shows what it said.
  expect({ exitCode, said: `${output}${errors}` }).toEqual({
    exitCode: 0,
    said: expect.stringContaining('ended early') as string,
  })
})

test('an amount that is given goes before that of the short form', async () => {
  const summary: Summary = await runShort('soak', '--minutes', '0.05', '--seed', '1')
  expect(summary).toMatchObject({ campaign: 'soak', seed: 1, amount: 'minutes', isCutShort: false })
  expect(summary.outcome.done).toBeCloseTo(0.05, 1)
})
