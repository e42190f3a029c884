import assert from 'node:assert/strict'
import { failed, NOW, newId, newJob, newNode } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'

export function testNodes({ test, testShared }: Kit): void {
  test('a registered node is listed with everything it said', async (stage) => {
    const node = newNode({ name: 'cellar', types: [], concurrency: 1, startedAt: NOW - 5 })
    await stage.store.registerNode(node)
    const nodes = await stage.store.listNodes()
    assert.equal(nodes.length, 2)
    assertSame(
      nodes.find(({ nodeId }) => nodeId === node.nodeId),
      node,
    )
  })

  test('a node says whether it claims', async (stage) => {
    const claims = async () => (await stage.store.listNodes()).map((node) => node.claims)
    assertSame(await claims(), [true])
    await stage.store.setNodeClaims(stage.nodeId, false)
    assertSame(await claims(), [false])
    await stage.changesNothing(() => stage.store.setNodeClaims(stage.nodeId, false))
    await stage.store.setNodeClaims(stage.nodeId, true)
    assertSame(await claims(), [true])
    await stage.changesNothing(() => stage.store.setNodeClaims(newId(), false))
  })

  test('two nodes of the same name and pid on the same host are two nodes', async (stage) => {
    const [one, two] = [newNode(), newNode()]
    await stage.store.registerNode(one)
    await stage.store.registerNode(two)
    assert.equal((await stage.store.listNodes()).length, 3)
  })

  test('a removed node is listed no more', async (stage) => {
    assert.equal(await stage.store.removeNode(stage.nodeId, NOW), 'removed')
    assertSame(await stage.store.listNodes(), [])
  })

  test('removing a node that is not there is done already', async (stage) => {
    assert.equal(await stage.changesNothing(() => stage.store.removeNode(newId(), NOW)), 'removed')
  })

  test('a node with a body cannot be removed', async (stage) => {
    const job = await stage.start()
    assert.equal(await stage.changesNothing(() => stage.store.removeNode(stage.nodeId, NOW)), 'occupied')
    await stage.finish(job, { outcome: failed('timeout'), body: 'executing' })
    assert.equal(await stage.changesNothing(() => stage.store.removeNode(stage.nodeId, NOW)), 'occupied')
    await stage.release(job.claim)
    assert.equal(await stage.store.removeNode(stage.nodeId, NOW), 'removed')
  })

  test('Runs still tell where they executed when their node is gone', async (stage) => {
    const job = await stage.start()
    await stage.finish(job)
    await stage.store.removeNode(stage.nodeId, NOW)
    assert.equal((await stage.run(job.claim.runId)).nodeId, stage.nodeId)
  })

  test('each node claims for itself', async (stage) => {
    const second = newNode()
    await stage.store.registerNode(second)
    const [a, b] = await stage.enqueue([newJob(), newJob()])
    assertSame(await stage.claimIds({ limit: 1 }), [a])
    const [claimed] = await stage.claim({ nodeId: second.nodeId })
    assertSame([claimed?.claim.jobId, claimed?.claim.nodeId], [b, second.nodeId])
    assertSame(await stage.occupants(), [a])
    assert.equal((await stage.store.listOccupancies(second.nodeId, 10)).length, 1)
    assertSame(await stage.store.listOccupancies(newId(), 10), [])
  })

  testShared('nodes are seen by every store object', async (stage, other) => {
    const ids = (await stage.store.listNodes()).map(({ nodeId }) => nodeId)
    assertSame(ids.toSorted(), [stage.nodeId, other.nodeId].toSorted())
  })
}
