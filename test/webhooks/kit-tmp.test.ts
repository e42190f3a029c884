import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { collectTests } from '../../src/store/conformance/kit.ts'
import { testWebhooks } from '../../src/store/conformance/webhooks.ts'
import { testDeliveries } from '../../src/store/conformance/deliveries.ts'
import { testDeliveryLeases } from '../../src/store/conformance/delivery-leases.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
const open = (folder: string) => sqlite(join(folder, 'pawl.db')).open()
const factory = { create: () => mkdtemp(join(tmpdir(), 'pawl-kit-')), open, openAnother: open, remove: (folder: string) => rm(folder, { recursive: true }) }
for (const [title, register] of [['webhooks', testWebhooks], ['deliveries', testDeliveries], ['leases', testDeliveryLeases]] as const) {
  describe(title, () => {
    for (const test of collectTests(title, register)) it(test.title, async () => {
      const database = await factory.create()
      try { await test.body(factory as never, database) } finally { await factory.remove(database) }
    })
  })
}
