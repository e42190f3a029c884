// Where there is nothing yet, the page tells the exact command that makes the first one. So these are executed as they stand.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { ROOT } from '../docs/markdown.ts'
import { Gate, inBrowser, loaded, openStage, visit } from './dashboard-stage.ts'

const execute = promisify(execFile)

/** As a shell would, with `pawl` being the one that was built here. */
function inShell(command: string): Promise<{ readonly stdout: string }> {
  const pawl = `'${process.execPath}' '${join(ROOT, 'dist', 'cli', 'main.js')}'`
  return execute('/bin/sh', ['-c', command.replace(/(^|\| )pawl /, `$1${pawl} `)])
}

inBrowser('the command of an empty page', () => {
  test('makes what the page lacks, on this server, when it is copied into a shell', { timeout: 120_000 }, async () => {
    const stage = await openStage()
    const page = await stage.open('/jobs')
    for (const [path, row] of [
      ['/jobs', 'echo'],
      ['/schedules', 'nightly'],
      ['/templates', 'my-template'],
      ['/groups', 'my-group'],
      ['/direct', 'echo'],
      ['/webhooks', 'example.com'],
    ] as const) {
      await visit(page, path)
      const command = page.locator('[data-empty="nothing-yet"] .command code')
      await command.getByText(`--server ${new URL(stage.server.url).origin}`).waitFor()
      const text = await command.first().innerText()
      expect(text).not.toMatch(/<|key=value/)
      await inShell(text)
      await loaded(page)
      await page.locator('[data-row]', { hasText: row }).first().waitFor()
    }
    await visit(page, '/operations')
    const counted = await inShell(await page.locator('.command code', { hasText: 'echo' }).innerText())
    expect(counted.stdout).toMatch(/\b0 jobs\b|no job/i)
  })

  test('is not told before it works: while the server is still asked for the types, there is nothing to copy', async () => {
    const stage = await openStage()
    const page = await stage.open('/nodes')
    const answer = new Gate()
    await page.route('**/api/job-types*', (route) => answer.passed.then(() => route.continue()))
    const command = page.locator('[data-empty="nothing-yet"] .command')
    await page.getByRole('link', { name: 'Schedules' }).click()
    await command.waitFor()
    expect(await command.innerText()).toBe('…')
    answer.open()
    await command.getByText('--type echo').waitFor()
  })
})
