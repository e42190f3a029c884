import { PawlError } from '../domain/errors.ts'
import { LIMIT_MAX } from '../domain/limits.ts'
import { invalid, readWhole } from '../domain/options.ts'
import type { LimitRecord } from '../store/maintenance.ts'
import type { OperationContext } from './context.ts'

const LIMIT_PATTERN = /^(running|(type|resource):[a-z0-9][a-z0-9._-]{0,127})$/

/** Changes a limit for all nodes: `running`, `type:<name>` or `resource:<name>`. Null: there is none from now on. */
export async function setLimit(context: OperationContext, name: string, max: number | null): Promise<void> {
  if (!LIMIT_PATTERN.test(name)) throw invalid('name', '`running`, `type:<name>` or `resource:<name>`', name)
  await context.store.setLimit(name, max === null ? null : readWhole(max, 1, LIMIT_MAX, 'max'))
}

/** From now on there is no such limit. */
export async function removeLimit(context: OperationContext, name: string): Promise<void> {
  const limits = await context.store.listLimits()
  if (!limits.some((limit) => limit.name === name)) {
    throw new PawlError('not_found', `There is no limit \`${name}\`.`, { details: { name } })
  }
  await context.store.setLimit(name, null)
}

export function listLimits(context: OperationContext): Promise<readonly LimitRecord[]> {
  return context.store.listLimits()
}
