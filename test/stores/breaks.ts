import pg from 'pg'
import { expect } from 'vitest'
import type { FaultPoint } from '../../src/store/fault-points.ts'
import { storeKind } from './each-store.ts'
import type { Row } from './shared-database.ts'

/** Of the package or of the sources, as the rest of the test has it. */
type OnFaultPoint = (listen: ((point: FaultPoint) => void) | null) => void

type Query = (this: object, config: { readonly text?: string } | string, ...rest: unknown[]) => unknown

interface PatchedClient {
  query: Query
}

const prototype = pg.Client.prototype as unknown as PatchedClient
const { query } = prototype

/** What a connection is told before anything else, and what is no part of what was asked for. */
const BESIDES = /^\s*(set enable_|select pg_notify|listen )/

/**
 * Lets what a store does break off, by an error `crash`, when it passes a place for the nth time. On a server `store:statement`
 * is every statement that its connections send, whatever it does: the connection is lost before it, with all that follow.
 */
export function breakAt(onFaultPoint: OnFaultPoint, at: FaultPoint, nth: number): void {
  let passed = 0
  const isHit = () => ++passed === nth
  if (storeKind === 'sqlite' || at !== 'store:statement') {
    onFaultPoint((point) => {
      if (point === at && isHit()) throw new Error('crash')
    })
    return
  }
  const lost = new WeakSet<object>()
  prototype.query = function passing(config, ...rest) {
    const text = typeof config === 'string' ? config : (config.text ?? '')
    if (!isOfStore(this) || BESIDES.test(text)) return query.call(this, config, ...rest)
    if (!lost.has(this) && isHit()) lost.add(this)
    return lost.has(this) ? Promise.reject(new Error('crash')) : query.call(this, config, ...rest)
  }
}

/** Nothing breaks off any more. */
export function mend(onFaultPoint: OnFaultPoint): void {
  onFaultPoint(null)
  prototype.query = query
}

/** What a test does behind the store's back has no name. */
function isOfStore(client: object): boolean {
  const { connectionParameters } = client as { connectionParameters?: { application_name?: string } }
  return connectionParameters?.application_name !== undefined
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
