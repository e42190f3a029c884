import { expect } from 'vitest'
import type { FaultPoint } from '../../src/store/fault-points.ts'
import * as breaks from '../../torture/sweep/breaks.ts'
import { storeKind } from './each-store.ts'
import type { Row } from './shared-database.ts'

/** Of the package or of the sources, as the rest of the test has it. */
type OnFaultPoint = (listen: ((point: FaultPoint) => void) | null) => void

/** Lets what a store does break off, by an error `crash`, when it passes a place for the nth time: as `npm run torture` does. */
export function breakAt(
  onFaultPoint: OnFaultPoint,
  at: FaultPoint,
  nth: number,
  passing: (point: FaultPoint) => void = () => {},
): void {
  breaks.breakAt(storeKind, at, nth, passing, onFaultPoint)
}

/** Nothing breaks off any more. */
export function mend(onFaultPoint: OnFaultPoint): void {
  breaks.mend(onFaultPoint)
}

/** Does something that may break off. True: it did. */
export async function breaksOff(operate: () => Promise<unknown>): Promise<boolean> {
  const error = await operate().then(
    () => null,
    (thrown: unknown) => thrown,
  )
  if (error === null) return false
  expect(error).toEqual(new Error('crash'))
  return true
}

type Tables = Readonly<Record<string, readonly Row[]>>

/**
 * What is there because of what was asked for. On a server lanes, policies and free permits are names that are written before,
 * in commits of their own, and that mean nothing by themselves; on SQLite they are part of the transaction.
 */
export function withoutNames(tables: Tables): Tables {
  if (storeKind === 'sqlite') return tables
  const { pawl_lanes: _, pawl_policies: __, pawl_permits: permits = [], ...others } = tables
  const taken = permits.filter((row) => row['job_seq'] !== null || row['reservation_seq'] !== null)
  return { ...others, pawl_permits: taken }
}
