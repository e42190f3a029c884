import { LIMIT_MAX, RUNNING_LIMIT, resourceLimit, typeLimit } from '../../domain/limits.ts'
import type { LimitRecord, TypeRecord } from '../maintenance.ts'
import { NOW, newPolicy } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'

export function testStoredTypesAndLimits({ test, testReopened }: Kit): void {
  test('a new store knows no types and no limits', async ({ store }) => {
    assertSame(await store.findTypes(), [])
    assertSame(await store.listLimits(), [])
    assertSame(await store.declareLimits([]), [])
  })

  test('types are known with their policy once registered', async ({ store }) => {
    const story = { type: 'story', policy: newPolicy({ resources: ['gpu', 'ink'] }) }
    const poem = { type: 'poem', policy: newPolicy({ timeoutMs: null }) }
    await store.registerTypes([story, poem], NOW)
    assertSame(byType(await store.findTypes()), [poem, story])
  })

  test('registering a type again replaces its policy and leaves the others', async ({ store }) => {
    const poem = { type: 'poem', policy: newPolicy() }
    await store.registerTypes([poem, { type: 'story', policy: newPolicy() }], NOW)
    const changed = { type: 'story', policy: newPolicy({ timeoutMs: 1, resources: ['ink'] }) }
    await store.registerTypes([changed], NOW + 1)
    await store.registerTypes([], NOW + 2)
    assertSame(byType(await store.findTypes()), [poem, changed])
  })

  test('declared limits are stored when they are new, and never overwritten', async ({ store }) => {
    const [running, ink] = [
      { name: RUNNING_LIMIT, max: 5 },
      { name: resourceLimit('ink'), max: 1 },
    ]
    assertSame(await store.declareLimits([running]), [running])
    const declared = await store.declareLimits([{ ...running, max: 9 }, ink])
    assertSame(byName(declared), [ink, running])
    assertSame(byName(await store.listLimits()), [ink, running])
  })

  test('a limit is set, changed and removed', async ({ store }) => {
    const name = typeLimit('story')
    await store.setLimit(name, 2)
    assertSame(await store.listLimits(), [{ name, max: 2 }])
    await store.setLimit(name, LIMIT_MAX)
    assertSame(await store.listLimits(), [{ name, max: LIMIT_MAX }])
    await store.setLimit(name, null)
    await store.setLimit(name, null)
    assertSame(await store.listLimits(), [])
  })

  testReopened('types and limits outlive the store object', async ({ store }, reopen) => {
    const story = { type: 'story', policy: newPolicy() }
    await store.registerTypes([story], NOW)
    await store.setLimit(RUNNING_LIMIT, 7)
    const reopened = (await reopen()).store
    assertSame(await reopened.findTypes(), [story])
    assertSame(await reopened.listLimits(), [{ name: RUNNING_LIMIT, max: 7 }])
  })
}

/** The contract promises no order of these, so the tests make one. */
function byType(types: readonly TypeRecord[]): TypeRecord[] {
  return types.toSorted((a, b) => (a.type < b.type ? -1 : 1))
}

function byName(limits: readonly LimitRecord[]): LimitRecord[] {
  return limits.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}
