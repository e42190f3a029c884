import { PawlError } from '../domain/errors.ts'
import { invalid } from '../domain/options.ts'
import { atIndex } from '../operations/at-index.ts'
import type { ListedRequest } from '../operations/enqueue-jobs.ts'
import { type EnqueueOptions, readEnqueueOptions, readStorable } from '../operations/enqueue-options.ts'
import { REF_LENGTH_MAX } from '../operations/listed-requests.ts'
import type { JobHandle } from './job-handle.ts'
import { type AnyJobType, type InputOf, type ResultOf, typeName } from './job-type.ts'

/** One Job of a list. */
export type EnqueueItem<Type extends AnyJobType | string> = EnqueueOptions & {
  readonly type: Type
  readonly params: Type extends AnyJobType ? InputOf<Type> : unknown
  /** A local name: other Jobs of the list may depend on it with `dependsOn: ['#name']`. */
  readonly ref?: string
}

export type HandleOf<Type> = JobHandle<Type extends AnyJobType ? ResultOf<Type> : unknown>

/** One Job of a graph. Its `dependsOn` may name other Jobs of the graph, or ids of Jobs that exist. */
export type GraphItem<Type extends AnyJobType | string> = Omit<EnqueueItem<Type>, 'ref'>

/** Checks the Jobs of a list, so that nothing wrong reaches the store. */
export function readItems(items: readonly EnqueueItem<AnyJobType | string>[], now: number): ListedRequest[] {
  if (!Array.isArray(items)) throw invalid('jobs', 'a list of { type, params, …options }', items)
  return (items as readonly EnqueueItem<AnyJobType>[]).map((item, index) =>
    atIndex(index, () => {
      if (typeof item !== 'object' || item === null) throw invalid('job', '{ type, params, …options }', item)
      const { type, params, ref, ...options } = item
      const request = readEnqueueOptions(typeName(type), params, options, now)
      return { ...request, ref: readStorable(ref, 'ref', REF_LENGTH_MAX) }
    }),
  )
}

/** A graph as a list: its names become local names. */
export function graphToItems(
  graph: Readonly<Record<string, GraphItem<AnyJobType | string>>>,
): EnqueueItem<AnyJobType | string>[] {
  if (typeof graph !== 'object' || graph === null || Array.isArray(graph)) {
    throw invalid('graph', 'an object of { name: { type, params, dependsOn?, …options } }', graph)
  }
  return Object.entries(graph).map(([name, item]) => {
    if (typeof item !== 'object' || item === null) throw invalid(name, '{ type, params, …options }', item)
    const { dependsOn } = item
    if (dependsOn === undefined || !Array.isArray(dependsOn)) return { ...item, ref: name }
    const named = (dependsOn as readonly string[]).map((id) =>
      typeof id === 'string' && Object.hasOwn(graph, id) ? `#${id}` : id,
    )
    return { ...item, dependsOn: named, ref: name }
  })
}

/** An error about a Job of a list, said of the graph that the list was made from. */
export function nameInGraph(error: unknown, items: readonly { readonly ref?: string }[]): unknown {
  if (!(error instanceof PawlError)) return error
  const index = /^jobs\.(\d+)/.exec(error.path ?? '')?.[1]
  if (index === undefined) return error
  const name = items[Number(index)]?.ref ?? index
  const message = error.message.replace(`Job ${index} of the list`, `Job \`${name}\` of the graph`)
  const path = error.path?.replace(`jobs.${index}`, name)
  return new PawlError(error.code, message, {
    details: 'index' in error.details ? { ...error.details, name } : error.details,
    cause: error,
    ...(path === undefined ? {} : { path }),
  })
}
