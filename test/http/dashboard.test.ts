import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { asProblem, newFolder, openStage, problemOf } from './server-stage.ts'

/** A build of the page, as far as the server cares. */
function newBuild(): string {
  const folder = join(newFolder(), 'dashboard')
  mkdirSync(join(folder, 'assets'), { recursive: true })
  writeFileSync(join(folder, 'index.html'), '<!doctype html><html><head><title>Pawl</title></head><body></body></html>')
  writeFileSync(join(folder, 'assets', 'index-a1b2c3.js'), 'export {}')
  writeFileSync(join(folder, 'favicon.svg'), '<svg/>')
  writeFileSync(join(folder, '.secret'), 'hidden')
  writeFileSync(join(folder, 'notes.exe'), 'no kind that a page has')
  return folder
}

describe('the dashboard', () => {
  it('is served at `/`, and at every route that the page makes by itself', async () => {
    const { get, ask } = await openStage({ dashboard: newBuild() })
    for (const path of [
      '/',
      '/jobs',
      '/jobs/01890a5d-ac96-774b-bcce-b302099a8057?tab=logs',
      '/groups/a%20b',
      '/groups/2026.q4',
      '/groups/%3Cimg%20src=x.y%3E',
      '/index.html',
    ]) {
      const page = await get(path)
      expect([page.status, page.headers['content-type']], path).toEqual([200, 'text/html; charset=utf-8'])
      expect(page.text).toContain('<head><base href="/"><title>')
      expect(page.headers['cache-control']).toBe('no-cache')
    }
    expect(await ask('HEAD', '/')).toMatchObject({ status: 200, text: '' })
  })

  it('allows no script, style or frame but its own', async () => {
    const { get } = await openStage({ dashboard: newBuild() })
    for (const path of ['/', '/assets/index-a1b2c3.js']) {
      const { headers } = await get(path)
      const policy = String(headers['content-security-policy'])
      for (const part of ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"]) {
        expect(policy.split('; '), path).toContain(part)
      }
      expect(policy).not.toContain('unsafe')
      expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'x-frame-options': 'DENY' })
    }
  })

  it('is kept by browsers as long as it cannot change', async () => {
    const { get } = await openStage({ dashboard: newBuild() })
    const script = await get('/assets/index-a1b2c3.js')
    expect(script).toMatchObject({ status: 200, text: 'export {}' })
    expect(script.headers['content-type']).toBe('text/javascript; charset=utf-8')
    expect(script.headers['cache-control']).toBe('public, max-age=31536000, immutable')
    const icon = await get('/favicon.svg')
    expect(icon.headers).toMatchObject({ 'cache-control': 'no-cache', 'content-type': 'image/svg+xml' })
    const again = await get('/favicon.svg', { 'if-none-match': String(icon.headers.etag) })
    expect([again.status, again.text]).toEqual([304, ''])
  })

  it('has only what is in its folder', async () => {
    const folder = newBuild()
    writeFileSync(join(folder, '..', 'outside.js'), 'not ours')
    symlinkSync(join(folder, '..', 'outside.js'), join(folder, 'linked.js'))
    const { get } = await openStage({ dashboard: folder })
    for (const path of [
      '/missing.js',
      '/linked.js',
      '/.secret',
      '/notes.exe',
      '/../outside.js',
      '/assets/../../outside.js',
      '/%2e%2e/outside.js',
      '/..%2foutside.js',
      '/assets/..%5c..%5coutside.js',
      '/assets.js/',
      '/assets/.secret',
      '/groups/..%2f..%2foutside.js',
      '/groups/%2e%2e/%2e%2e/outside.js',
    ]) {
      expect(problemOf(await get(path)), path).toEqual(asProblem(404, 'not_found'))
    }
    expect((await get('/assets')).text).toContain('<base')
  })

  it('leaves the API as it is', async () => {
    const { get, post, newKey } = await openStage({ dashboard: newBuild() })
    expect(problemOf(await get('/api/nothing'))).toEqual(asProblem(404, 'not_found'))
    expect(problemOf(await get('/api'))).toEqual(asProblem(404, 'not_found'))
    expect(problemOf(await post('/jobs', {}))).toEqual(asProblem(404, 'not_found'))
    expect((await get('/health')).body).toMatchObject({ status: 'ok' })
    expect((await get('/metrics')).text).toContain('# HELP')
    await newKey('admin')
    expect((await get('/jobs')).status).toBe(200)
    // However a path is written, what it leads to asks for the key.
    for (const path of [
      '/api/jobs',
      '/metrics',
      '/openapi.json',
      '/%61pi/jobs',
      '/%6detrics',
      '/metrics?x',
      '/api/x',
    ]) {
      expect(problemOf(await get(path)), path).toEqual(asProblem(401, 'unauthenticated'))
    }
  })

  it('can be reached by a link from elsewhere, and by nothing else from there', async () => {
    const { get } = await openStage({ dashboard: newBuild() })
    const site = { 'sec-fetch-site': 'cross-site' }
    const link = { ...site, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
    expect((await get('/jobs', link)).status).toBe(200)
    expect(problemOf(await get('/api/jobs', link))).toEqual(asProblem(403, 'origin_refused'))
    expect(problemOf(await get('/jobs', { ...link, 'sec-fetch-dest': 'iframe' }))).toEqual(
      asProblem(403, 'origin_refused'),
    )
    expect(problemOf(await get('/assets/index-a1b2c3.js', site))).toEqual(asProblem(403, 'origin_refused'))
    expect(problemOf(await get('/', { ...link, host: 'evil.example' }))).toEqual(asProblem(421, 'host_refused'))
  })

  it('that was not built says how to build it', async () => {
    const { get } = await openStage({ dashboard: join(newFolder(), 'none') })
    const answer = await get('/')
    expect([answer.status, answer.headers['content-type']]).toEqual([404, 'text/plain; charset=utf-8'])
    expect(answer.text).toContain('npm run build')
  })

  it('is not there unless it was asked for', async () => {
    const { get } = await openStage()
    expect(problemOf(await get('/'))).toEqual(asProblem(404, 'not_found'))
  })
})

describe('a base path', () => {
  it('is told to the page, and understood whether the proxy leaves it or takes it away', async () => {
    const { get, post } = await openStage({ dashboard: newBuild(), basePath: '/tools/pawl/' })
    for (const path of ['/tools/pawl', '/tools/pawl/', '/tools/pawl/jobs', '/jobs', '/tools/pawl?x=1']) {
      expect((await get(path)).text, path).toContain('<base href="/tools/pawl/">')
    }
    expect((await get('/tools/pawl/assets/index-a1b2c3.js')).text).toBe('export {}')
    expect((await get('/tools/pawl/health')).body).toMatchObject({ status: 'ok' })
    expect((await get('/openapi.json')).body).toMatchObject({ servers: [{ url: '/tools/pawl/' }] })
    const made = await post('/tools/pawl/api/jobs', { type: 'noop' })
    expect(made.status).toBe(201)
    expect((await get(String(made.headers.location))).body).toMatchObject({ job_id: made.body['job_id'] })
    expect(made.headers.location).toBe(`/tools/pawl/api/jobs/${String(made.body['job_id'])}`)
  })

  it('that is none, or one of the API, is refused', async () => {
    for (const basePath of ['pawl', '/a b', '/<x>', '//x', '/../x', '/api', '/x?y', 7 as unknown as string]) {
      await expect(openStage({ basePath }), String(basePath)).rejects.toMatchObject({
        code: 'invalid_option',
        path: 'basePath',
      })
    }
  })
})
