import assert from 'node:assert/strict'
import type { Template } from '../../domain/template.ts'
import { NOW, newId, newJob, newPolicy, SECOND } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import { newTemplate } from './schedule-fixtures.ts'
import type { Stage } from './stage.ts'

/** Templates: what they keep, who may change them, and what archiving means. */
export function testTemplates({ test, testShared }: Kit): void {
  test('a template is read as it was written', async ({ store }) => {
    const plain = newTemplate()
    const full = newTemplate({
      defaultParams: ['a', { b: null }],
      retry: newPolicy().retry,
      timeoutMs: 5 * SECOND,
      description: 'Writes one every night.',
    })
    const endless = newTemplate({ timeoutMs: null, defaultParams: null })
    for (const template of [plain, full, endless]) {
      await store.createTemplate(template)
      assertSame(await store.findTemplate(template.templateId), template)
    }
    assert.equal(await store.findTemplate(newId()), null)
  })

  test('a change replaces what the template says, and makes a new revision', async ({ store }) => {
    const template = newTemplate()
    await store.createTemplate(template)
    const changed: Template = {
      ...template,
      name: 'weekly poem',
      type: 'poem',
      defaultParams: { lines: 14 },
      retry: newPolicy().retry,
      timeoutMs: null,
      description: 'A sonnet.',
    }
    assert.equal(await store.changeTemplate({ template: changed, now: NOW + SECOND }), 'changed')
    const expected = { ...changed, revision: 2, updatedAt: NOW + SECOND }
    assertSame(await store.findTemplate(template.templateId), expected)
  })

  test('a change that was decided on an older revision changes nothing', async (stage) => {
    const template = newTemplate()
    await stage.store.createTemplate(template)
    await stage.store.changeTemplate({ template: { ...template, name: 'first' }, now: NOW })
    const result = await stage.changesNothing(() =>
      stage.store.changeTemplate({ template: { ...template, name: 'second' }, now: NOW }),
    )
    assert.equal(result, 'stale')
    assert.equal((await stage.store.findTemplate(template.templateId))?.name, 'first')
  })

  test('what is not there can be neither changed nor archived', async ({ store }) => {
    assert.equal(await store.changeTemplate({ template: newTemplate(), now: NOW }), 'not-found')
    assert.equal(await store.archiveTemplate(newId(), NOW), 'not-found')
  })

  test('an archived template stays as it is: archived once, and changed no more', async ({ store }) => {
    const template = newTemplate()
    await store.createTemplate(template)
    assert.equal(await store.archiveTemplate(template.templateId, NOW + SECOND), 'archived')
    const archived = await store.findTemplate(template.templateId)
    assert.equal(archived?.archivedAt, NOW + SECOND)
    assert.equal(await store.archiveTemplate(template.templateId, NOW + 2 * SECOND), 'archived')
    assert.equal(await store.changeTemplate({ template: archived as Template, now: NOW }), 'archived')
    assertSame(await store.findTemplate(template.templateId), archived)
  })

  test('with a revision it is archived only if it is still at that', async ({ store }) => {
    const template = newTemplate()
    const { templateId } = template
    await store.createTemplate(template)
    await store.changeTemplate({ template: { ...template, name: 'another' }, now: NOW })
    assert.equal(await store.archiveTemplate(templateId, NOW, 1), 'stale')
    assert.equal((await store.findTemplate(templateId))?.archivedAt, null)
    assert.equal(await store.archiveTemplate(templateId, NOW, 2), 'archived')
    assert.equal(await store.archiveTemplate(newId(), NOW, 1), 'not-found')
  })

  test('Jobs are made of a template that is there and not archived, and of no other', async (stage) => {
    const template = newTemplate()
    await stage.store.createTemplate(template)
    const { templateId } = template
    const [jobId] = await stage.enqueue([newJob({ templateId })])
    assert.equal((await stage.job(jobId)).templateId, templateId)
    await stage.store.archiveTemplate(templateId, NOW)
    await isRefused(stage, templateId)
    await isRefused(stage, newId())
  })

  test('lists are newest first, page by page, with the archived apart', async ({ store }) => {
    const templates = Array.from({ length: 5 }, () => newTemplate())
    for (const template of templates) await store.createTemplate(template)
    const ids = templates.map(({ templateId }) => templateId).toReversed()
    const archived = [ids[1], ids[3]] as [string, string]
    for (const templateId of archived) await store.archiveTemplate(templateId, NOW)
    assertSame(await idsOf({}), [ids[0], ids[2], ids[4]])
    assertSame(await idsOf({ state: 'archived' }), archived)
    assertSame(await idsOf({ state: 'any' }), ids)

    async function idsOf(filter: { state?: 'archived' | 'any' }): Promise<string[]> {
      const first = await store.listTemplates({ ...filter, limit: 2 })
      const second = await store.listTemplates({ ...filter, limit: 10, cursor: first.nextCursor })
      assert.equal(first.items.length, 2)
      assert.equal(second.nextCursor, null)
      const rest = first.nextCursor === null ? [] : second.items
      return [...first.items, ...rest].map(({ templateId }) => templateId)
    }
  })

  testShared('of two changes of one revision one wins, whoever made it', async (stage, other) => {
    const template = newTemplate()
    await stage.store.createTemplate(template)
    const results = await Promise.all(
      [stage, other].map((one, index) =>
        one.store.changeTemplate({ template: { ...template, name: `name ${index}` }, now: NOW }),
      ),
    )
    assertSame(results.toSorted(), ['changed', 'stale'])
    const winner = await stage.store.findTemplate(template.templateId)
    assert.equal(winner?.name, `name ${results.indexOf('changed')}`)
    assert.equal(winner?.revision, 2)
  })
}

async function isRefused(stage: Stage, templateId: string): Promise<void> {
  const result = await stage.changesNothing(() => stage.store.enqueueJobs([newJob(), newJob({ templateId })], NOW))
  assertSame(result, { kind: 'refused', conflict: { kind: 'template-not-usable', index: 1, templateId } })
}
