import type { Campaign, Conditions, Outcome, Violation } from '../campaign.ts'
import { Chance } from '../chance.ts'
import type { Place } from './database.ts'
import { findUnswept } from './methods.ts'
import { OPERATIONS } from './operations/index.ts'
import { openPostgresPlace } from './postgres-place.ts'
import { openSqlitePlace } from './sqlite-place.ts'
import type { Operation } from './stage.ts'
import { sweepOperation } from './sweep-operation.ts'

export const sweep: Campaign = {
  name: 'sweep',
  about: 'every operation broken off at every statement, and its answer lost after the commit',
  amount: { name: 'rounds', usual: 1, short: 1 },
  stores: ['sqlite', 'postgres'],
  run: async (conditions) => {
    const place = conditions.store === 'sqlite' ? await openSqlitePlace() : await openPostgresPlace()
    try {
      return await runOn(place, conditions)
    } finally {
      await place.remove()
    }
  },
}

async function runOn(place: Place, { seed, amount, progress, signal }: Conditions): Promise<Outcome> {
  const chance = new Chance(seed)
  const operations = OPERATIONS.filter(({ only = place.kind }) => only === place.kind)
  const called = new Set<string>()
  const replay = `sweep --store ${place.kind} --seed ${seed}`
  const violations: Violation[] = []
  let [swept, breakOffs, lostAnswers] = [0, 0, 0]
  const sweepOne = async (operation: Operation) => {
    const result = await sweepOperation(operation, place, { called })
    breakOffs += result.breakOffs
    lostAnswers += result.lostAnswers
    const messages = result.faults.map((fault) => `${operation.name}: ${fault}`)
    if (messages.length > 0) violations.push({ replay, messages })
    progress.done(++swept / operations.length)
  }
  while (swept < amount * operations.length && !signal.aborted) {
    for (const operation of chance.shuffled(operations)) if (!signal.aborted) await sweepOne(operation)
  }
  const holes = swept < operations.length ? [] : findUnswept(called)
  const messages = holes.map((name) => `${name} of the store writes, and is part of no operation`)
  if (messages.length > 0) violations.push({ replay, messages })
  const counts = {
    operations: Math.min(swept, operations.length),
    'break-offs': breakOffs,
    'lost answers': lostAnswers,
  }
  return { done: swept / operations.length, trials: breakOffs + lostAnswers, counts, violations }
}
