import { findCycle } from '../domain/dependency.ts'
import { PawlError } from '../domain/errors.ts'
import { atIndex } from './at-index.ts'

/** How a Job of a list names another one of the same list: `#` and that one's `ref`. */
const REF_MARK = '#'

/** Names of a cycle that a message tells. */
const CYCLE_NAMES_MAX = 20

interface Listed {
  readonly ref: string | null
  readonly dependsOn: readonly string[]
}

/** Replaces local names by the ids that the Jobs will have. Throws for unknown and repeated names, and for cycles. */
export function resolveRefs<Request extends Listed>(requests: readonly Request[], ids: readonly string[]): Request[] {
  const idByRef = new Map<string, string>()
  for (const [index, { ref }] of requests.entries()) {
    if (ref === null) continue
    if (idByRef.has(ref)) atIndex(index, () => refuse('ref', `The local name \`${ref}\` is given twice.`))
    idByRef.set(ref, ids[index] as string)
  }
  const resolved = requests.map((request, index) => {
    if (!request.dependsOn.some((name) => name.startsWith(REF_MARK))) return request
    const dependsOn = request.dependsOn.map((name) => atIndex(index, () => resolve(name, idByRef)))
    return { ...request, dependsOn: [...new Set(dependsOn)] }
  })
  if (idByRef.size > 0) refuseCycle(requests, resolved, ids)
  return resolved
}

function resolve(name: string, idByRef: ReadonlyMap<string, string>): string {
  if (!name.startsWith(REF_MARK)) return name
  const id = idByRef.get(name.slice(REF_MARK.length))
  if (id !== undefined) return id
  return refuse('dependsOn', `It depends on \`${name}\`, but no job of the list has that \`ref\`.`)
}

function refuseCycle(requests: readonly Listed[], resolved: readonly Listed[], ids: readonly string[]): void {
  const cycle = findCycle(new Map(resolved.map(({ dependsOn }, index) => [ids[index] as string, dependsOn])))
  if (cycle === null) return
  const nameOf = new Map(requests.map(({ ref }, index) => [ids[index] as string, ref ?? String(index)]))
  const names = cycle.map((id) => nameOf.get(id) ?? id)
  const index = ids.indexOf(cycle[0] as string)
  const isLong = names.length > CYCLE_NAMES_MAX
  const path = (isLong ? [...names.slice(0, CYCLE_NAMES_MAX - 1), '…', names.at(-1)] : names).join(' → ')
  throw new PawlError('dependency_cycle', `These jobs would wait for each other: ${path}. Nothing was stored.`, {
    path: `jobs.${index}.dependsOn`,
    details: { cycle: path },
  })
}

function refuse(path: string, message: string): never {
  throw new PawlError('invalid_option', message, { path })
}
