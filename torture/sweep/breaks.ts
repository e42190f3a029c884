import { type FaultPoint, onFaultPoint } from 'pawl/testing'
import pg from 'pg'
import type { StoreKind } from '../campaign.ts'

type Query = (this: object, config: { readonly text?: string } | string, ...rest: unknown[]) => unknown

interface PatchedClient {
  query: Query
}

const prototype = pg.Client.prototype as unknown as PatchedClient
const { query } = prototype

/** What a connection is told before anything else, and what is no part of what was asked for. */
const BESIDES = /^\s*(set enable_|select pg_notify|listen )/

const CRASH = 'crash'

/** Of the package, or of the sources where a test has those. */
type Listen = typeof onFaultPoint

/**
 * Lets what a store does break off, by an error, when it passes a place for the nth time. On a server `store:statement` is
 * every statement that its connections send, whatever it does: the connection is lost before it, with all that follow.
 * `passing` is called at each other place, in the middle of what is going on there.
 */
export function breakAt(
  kind: StoreKind,
  at: FaultPoint,
  nth: number,
  passing: (point: FaultPoint) => void = () => {},
  listen: Listen = onFaultPoint,
): void {
  let count = 0
  const isHit = () => ++count === nth
  listen((point) => {
    if (point !== at || (kind === 'postgres' && at === 'store:statement')) passing(point)
    else if (isHit()) throw new Error(CRASH)
  })
  if (kind === 'postgres' && at === 'store:statement') patchStatements(isHit, 'before')
}

/** The server does what the nth statement says, and then the connection is lost, before its answer and all that would follow. */
export function loseAnswerOf(nth: number): void {
  let count = 0
  patchStatements(() => ++count === nth, 'after')
}

function patchStatements(isHit: () => boolean, when: 'before' | 'after'): void {
  const lost = new WeakSet<object>()
  prototype.query = function passing(config, ...rest) {
    const text = typeof config === 'string' ? config : (config.text ?? '')
    if (!isOfStore(this) || BESIDES.test(text)) return query.call(this, config, ...rest)
    if (lost.has(this)) return Promise.reject(new Error(CRASH))
    if (!isHit()) return query.call(this, config, ...rest)
    lost.add(this)
    if (when === 'before') return Promise.reject(new Error(CRASH))
    return lose(query.call(this, config, ...rest))
  }
}

async function lose(answer: unknown): Promise<never> {
  await Promise.resolve(answer).catch(() => {})
  throw new Error(CRASH)
}

/** Nothing breaks off any more. */
export function mend(listen: Listen = onFaultPoint): void {
  listen(null)
  prototype.query = query
}

/** What is done behind the store's back has no name. */
function isOfStore(client: object): boolean {
  const { connectionParameters } = client as { connectionParameters?: { application_name?: string } }
  return connectionParameters?.application_name !== undefined
}

/** Does something that may break off. True: it did. Whatever else is thrown is thrown here, too. */
export async function breaksOff(operate: () => Promise<unknown>): Promise<boolean> {
  try {
    await operate()
    return false
  } catch (error) {
    if (error instanceof Error && error.message === CRASH) return true
    throw error
  } finally {
    mend()
  }
}
