import assert from 'node:assert/strict'
import { NOW, newId, newNode } from './fixtures.ts'
import type { Kit } from './kit.ts'

export function testLiveness({ test, testShared }: Kit): void {
  test('a node lives from the beginning of its life to the end', async ({ store }) => {
    const nodeId = newId()
    assert.equal(await store.liveness.isAlive(nodeId), false)
    const life = await store.liveness.begin(nodeId)
    assert.equal(await store.liveness.isAlive(nodeId), true)
    assert.equal(await life.beat(), 'alive')
    // Stores that know at once who lives tell of no proofs.
    const proofs = await store.liveness.lastProofs([nodeId, newId()])
    for (const [id, at] of proofs) assert.ok(id === nodeId && at > 0, 'of this one only')
    assert.equal(await store.liveness.isAlive(nodeId), true)
    await life.end()
    assert.equal(await store.liveness.isAlive(nodeId), false)
  })

  test('one life ends without another', async ({ store }) => {
    const [one, two] = [newId(), newId()]
    const lives = [await store.liveness.begin(one), await store.liveness.begin(two)] as const
    await lives[0].end()
    assert.equal(await store.liveness.isAlive(one), false)
    assert.equal(await store.liveness.isAlive(two), true)
    await lives[1].end()
  })

  test('a dead node can be buried, also twice', async ({ store }) => {
    const node = newNode()
    const life = await store.liveness.begin(node.nodeId)
    await store.registerNode(node)
    await life.end()
    await store.removeNode(node.nodeId, NOW)
    await store.liveness.bury(node.nodeId)
    await store.liveness.bury(node.nodeId)
    assert.equal(await store.liveness.isAlive(node.nodeId), false)
  })

  test('a sweep leaves every living node alone, whether it has a row yet or not', async ({ store }) => {
    const [rowless, known] = [newId(), newId()]
    const lives = [await store.liveness.begin(rowless), await store.liveness.begin(known)]
    await store.liveness.sweep(new Set([known]))
    await store.liveness.sweep(new Set())
    assert.equal(await store.liveness.isAlive(rowless), true)
    assert.equal(await store.liveness.isAlive(known), true)
    for (const life of lives) await life.end()
  })

  test('a sweep after the end leaves nobody alive', async ({ store }) => {
    const nodeId = newId()
    await (await store.liveness.begin(nodeId)).end()
    await store.liveness.sweep(new Set())
    assert.equal(await store.liveness.isAlive(nodeId), false)
  })

  testShared('life and death are seen by every store object', async ({ store }, other) => {
    const nodeId = newId()
    const life = await store.liveness.begin(nodeId)
    assert.equal(await other.store.liveness.isAlive(nodeId), true)
    await other.store.liveness.sweep(new Set())
    assert.equal(await other.store.liveness.isAlive(nodeId), true)
    assert.equal(await store.liveness.isAlive(nodeId), true)
    await life.end()
    assert.equal(await other.store.liveness.isAlive(nodeId), false)
    await other.store.liveness.bury(nodeId)
    assert.equal(await store.liveness.isAlive(nodeId), false)
  })
}
