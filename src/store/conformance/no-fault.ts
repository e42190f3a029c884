import assert from 'node:assert/strict'
import type { Store } from '../store.ts'
import { NOW } from './fixtures.ts'

/** No invariant is contradicted by what is stored. */
export async function assertNoFault(store: Store): Promise<void> {
  const checked = await store.checkInvariants(NOW)
  const faults = checked.flatMap(({ invariant, findings }) =>
    findings
      .filter(({ severity }) => severity === 'fault')
      .map(({ message, rows }) => `${invariant}: ${message} (${rows.join(', ')})`),
  )
  assert.deepEqual(faults, [])
}
