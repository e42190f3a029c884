// Loading pawl.config.*: found, checked, and told apart from a fault of ours.
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findConfigFile, loadConfigFile } from '../../src/cli/config.ts'
import { PawlError } from '../../src/index.ts'
import { readConfig } from '../../src/library/config.ts'
import { newFolder, pawl, writeInto } from './cli-stage.ts'

describe('the file', () => {
  test('is the first of pawl.config.ts, .mts, .mjs and .js that is there', () => {
    const folder = newFolder()
    expect(findConfigFile(folder, undefined)).toBeNull()
    for (const name of ['pawl.config.js', 'pawl.config.mjs', 'pawl.config.mts', 'pawl.config.ts']) {
      writeInto(folder, name, 'export default { jobs: [] }')
      expect(findConfigFile(folder, undefined)).toBe(join(folder, name))
    }
    expect(findConfigFile(folder, 'pawl.config.js')).toBe(join(folder, 'pawl.config.js'))
  })

  test.each([
    ['pawl.config.ts', 'const jobs: readonly never[] = []; export default { jobs, concurrency: 3 as number }'],
    ['pawl.config.mts', 'export default { jobs: [] as never[], concurrency: 3 } satisfies object'],
    ['pawl.config.mjs', 'export default { jobs: [], concurrency: 3 }'],
    ['other.ts', "import { three } from './three.ts'; export default { jobs: [], concurrency: three }"],
  ])('may be %s', async (name, text) => {
    const folder = newFolder()
    writeInto(folder, 'three.ts', 'export const three: number = 3')
    writeInto(folder, name, text)
    const loaded = await loadConfigFile(join(folder, name), folder)
    expect(loaded).toMatchObject({ config: { concurrency: 3 }, file: name, folder })
  })

  test('that --config names must be there, and be code', async () => {
    const folder = newFolder()
    const missing = await pawl(['types', '--config', 'nothing.ts'], { cwd: folder })
    expect({ exitCode: missing.exitCode, stderr: missing.stderr.split('\n')[0] }).toEqual({
      exitCode: 2,
      stderr: 'error: There is no file nothing.ts, which --config names.',
    })
    writeInto(folder, 'config.json', '{}')
    expect((await pawl(['types', '--config', 'config.json'], { cwd: folder })).exitCode).toBe(2)
  })
})

describe('what it exports', () => {
  const refusal = (config: unknown): PawlError => {
    try {
      readConfig(config, 'pawl.config.ts')
    } catch (error) {
      if (error instanceof PawlError) return error
      throw error
    }
    throw new Error('it was accepted')
  }

  test.each([
    [undefined, 'default', 'exported'],
    [[], 'default', 'exported'],
    [{}, 'jobs', 'made by defineJob'],
    [{ jobs: {} }, 'jobs', 'a list'],
    [{ jobs: [{ type: 'story' }] }, 'jobs.0', 'made by defineJob'],
    [{ jobs: [], concurency: 2 }, 'concurency', 'Expected one of: store, jobs, concurrency'],
    [{ jobs: [], concurrency: 0 }, 'concurrency', 'from 1 to 1000, got `0`'],
    [{ jobs: [], maxRunning: '4' }, 'maxRunning', 'got `"4"`'],
    [{ jobs: [], resources: { gpu: 0 } }, 'resources.gpu', 'got `0`'],
    [{ jobs: [], shutdownTimeoutMs: -1 }, 'shutdownTimeoutMs', 'got `-1`'],
    [{ jobs: [], store: 7 }, 'store', 'sqlite:pawl.db'],
    [{ jobs: [], store: '' }, 'store', 'not empty'],
    [{ jobs: [], webhooks: { allowPrivate: ['everywhere'] } }, 'webhooks.allowPrivate', '10.0.0.0/8'],
    [{ jobs: [], server: { prot: 1 } }, 'server.prot', 'Expected one of: host, port'],
    [{ jobs: [], server: { port: 70_000 } }, 'server.port', 'got `70000`'],
    [{ jobs: [], server: { host: '' } }, 'server.host', 'not empty'],
    [{ jobs: [], server: { rateLimit: 0 } }, 'server.rateLimit', 'got `0`'],
    [{ jobs: [], server: { acceptAnyType: 'yes' } }, 'server.acceptAnyType', 'true or false'],
    [{ jobs: [], server: { allowedHosts: 'a' } }, 'server.allowedHosts', 'a list of texts'],
    [{ jobs: [], server: { allowedOrigins: ['https://a', 3] } }, 'server.allowedOrigins.1', 'got `3`'],
  ])('%j is refused: which key, what was expected, what came', (config, path, words) => {
    const { code, message, path: place } = refusal(config)
    expect({ code, place }).toEqual({ code: 'config_invalid', place: path })
    expect(message).toMatch(/^pawl\.config\.ts is not right\. /)
    expect(message).toContain(words)
  })

  test('may say everything there is to say', () => {
    const config = {
      store: 'sqlite:pawl.db',
      jobs: [],
      concurrency: 2,
      maxRunning: 3,
      resources: { gpu: 1 },
      shutdownTimeoutMs: 5_000,
      server: {
        host: '::1',
        port: 0,
        allowedHosts: ['pawl.local'],
        allowedOrigins: [],
        rateLimit: false,
        acceptAnyType: true,
      },
      webhooks: { allowPrivate: ['127.0.0.1'] },
    }
    expect(readConfig(config, 'pawl.config.ts')).toBe(config)
  })
})

describe('a command with a configuration that is wrong', () => {
  test.each([
    ['export default { jobs: 3 }', 'pawl.config.mjs is not right. Expected `jobs` to be a list'],
    ["throw new Error('no key in OPENAI_KEY')", 'pawl.config.mjs could not be loaded: no key in OPENAI_KEY'],
    ['export default {', 'pawl.config.mjs could not be loaded: '],
    ["import './nothing.mjs'", 'pawl.config.mjs could not be loaded: '],
    ['throw null', 'pawl.config.mjs could not be loaded: null'],
    ['export const config = {}', 'Expected `default` to be exported'],
  ])('%j fails with its message, not with a stack', async (text, words) => {
    const folder = newFolder()
    writeInto(folder, 'pawl.config.mjs', text)
    const { exitCode, stdout, stderr } = await pawl(['enqueue', 'story'], { cwd: folder })
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' })
    expect(stderr).toContain(words)
    expect(stderr).not.toContain('    at ')
    const json = await pawl(['enqueue', 'story', '--json'], { cwd: folder })
    expect(JSON.parse(json.stderr)).toMatchObject({ code: 'config_invalid' })
  })

  test('does not hinder one that only reads a store that is named', async () => {
    const folder = newFolder()
    await pawl(['migrate'], { cwd: folder })
    writeInto(folder, 'pawl.config.mjs', 'throw new Error("broken")')
    expect((await pawl(['jobs', 'list', '--store', 'pawl.db'], { cwd: folder })).exitCode).toBe(0)
    expect((await pawl(['jobs', 'list'], { cwd: folder })).exitCode).toBe(1)
  })
})
