import { describe, expect, test } from 'vitest'
import { openApi, refusalOf } from './api-stage.ts'

describe('/api/job-templates', () => {
  test('makes, reads, changes and archives a template', async () => {
    const { admin, viewer } = await openApi()
    const made = await admin.answer('POST /api/job-templates', {
      body: {
        name: 'gothic',
        job_type: 'story',
        default_params: { genre: 'gothic' },
        retry_policy: { max_retries: 1 },
        timeout_ms: 1_000,
        description: 'for the nights',
      },
    })
    expect(made).toMatchObject({
      status: 201,
      body: {
        name: 'gothic',
        job_type: 'story',
        default_params: { genre: 'gothic' },
        retry_policy: { max_retries: 1 },
        timeout_ms: 1_000,
        inherits_timeout: false,
        description: 'for the nights',
        revision: 1,
        archived_at: null,
      },
    })
    const { template_id } = made.body
    expect(await viewer.templates.get(template_id)).toEqual(made.body)
    expect((await viewer.templates.list()).items).toEqual([made.body])
    const changed = await admin.templates.change(template_id, {
      name: 'noir',
      params: { genre: 'noir' },
      retry_policy: null,
      timeout_ms: 'inherit',
      description: null,
    })
    expect(changed).toMatchObject({
      name: 'noir',
      default_params: { genre: 'noir' },
      retry_policy: null,
      timeout_ms: null,
      inherits_timeout: true,
      description: null,
      revision: 2,
    })
    const archived = await admin.templates.archive(template_id)
    expect(archived.archived_at).not.toBeNull()
    expect(await viewer.templates.get(template_id)).toEqual(archived)
    expect((await viewer.templates.list()).items).toEqual([])
    expect((await viewer.templates.list({ state: 'archived' })).items).toEqual([archived])
    const late = await refusalOf(admin.templates.change(template_id, { name: 'x' }))
    expect(late).toEqual({ status: 409, code: 'template_archived' })
    const job = await refusalOf(admin.jobs.enqueue({ template_id }))
    expect(job).toEqual({ status: 409, code: 'template_archived', path: 'template_id' })
  })

  test('takes the older name `params`, and tells none from inherited timeouts', async () => {
    const { admin } = await openApi()
    const plain = await admin.templates.create({ name: 'a', job_type: 'story', params: { genre: 'x' } })
    expect(plain).toMatchObject({ default_params: { genre: 'x' }, timeout_ms: null, inherits_timeout: true })
    const endless = await admin.templates.create({ name: 'b', job_type: 'story', timeout_ms: null })
    expect(endless).toMatchObject({ timeout_ms: null, inherits_timeout: false })
  })

  test('keeps null as default params, by either name', async () => {
    const { admin } = await openApi()
    const made = await admin.templates.create({ name: 'a', job_type: 'review', default_params: null })
    expect(made.default_params).toBeNull()
    const { template_id } = made
    await admin.templates.change(template_id, { default_params: { a: 1 } })
    expect((await admin.templates.change(template_id, { default_params: null })).default_params).toBeNull()
    await admin.templates.change(template_id, { default_params: [] })
    expect((await admin.templates.change(template_id, { params: null })).default_params).toBeNull()
    expect(await admin.jobs.enqueue({ template_id })).toMatchObject({ params: null })
  })

  test('archives only the version that `If-Match` names', async () => {
    const { admin } = await openApi()
    const { template_id, revision } = await admin.templates.create({ name: 'a', job_type: 'story' })
    const stale = await refusalOf(admin.templates.archive(template_id, { ifMatch: revision + 1 }))
    expect(stale).toEqual({ status: 412, code: 'precondition_failed' })
    expect((await admin.templates.archive(template_id, { ifMatch: revision })).archived_at).not.toBeNull()
  })

  test('changes only the version that `If-Match` names', async () => {
    const { admin } = await openApi()
    const { template_id, revision } = await admin.templates.create({ name: 'a', job_type: 'story' })
    await admin.templates.change(template_id, { name: 'b' }, { ifMatch: revision })
    const stale = await refusalOf(admin.templates.change(template_id, { name: 'c' }, { ifMatch: revision }))
    expect(stale).toEqual({ status: 412, code: 'precondition_failed' })
    const strange = await refusalOf(admin.templates.change(template_id, { name: 'c' }, { ifMatch: '"abc"' }))
    expect(strange).toEqual({ status: 412, code: 'precondition_failed' })
    expect(await admin.templates.get(template_id)).toMatchObject({ name: 'b', revision: 2 })
    // Of several one must be there, also behind one that no template ever has.
    const changed = await admin.templates.change(template_id, { name: 'd' }, { ifMatch: '"abc", "2"' })
    expect(changed).toMatchObject({ name: 'd', revision: 3 })
  })

  test.each([
    ['no name', { job_type: 'story' }, 'invalid_option', 'name'],
    ['no type', { name: 'a' }, 'invalid_option', 'job_type'],
    ['an unknown type', { name: 'a', job_type: 'nobody' }, 'unknown_type', 'job_type'],
    [
      'both names of the params',
      { name: 'a', job_type: 'story', params: 1, default_params: 2 },
      'invalid_option',
      'params',
    ],
    ['a wrong timeout', { name: 'a', job_type: 'story', timeout_ms: 'never' }, 'invalid_option', 'timeout_ms'],
    [
      'a wrong policy',
      { name: 'a', job_type: 'story', retry_policy: { max_retries: -1 } },
      'invalid_option',
      'retry_policy.max_retries',
    ],
    [
      'params that are too large',
      { name: 'a', job_type: 'story', params: 'x'.repeat(300_000) },
      'params_too_large',
      'default_params',
    ],
    [
      'too long a description',
      { name: 'a', job_type: 'story', description: 'x'.repeat(4_097) },
      'invalid_option',
      'description',
    ],
  ])('refuses %s', async (_, body, code, path) => {
    const { admin } = await openApi()
    expect(await refusalOf(admin.templates.create(body as never))).toEqual({ status: 422, code, path })
  })
})
