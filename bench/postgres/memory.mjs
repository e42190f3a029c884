import { memoryOver } from '../sections/memory.mjs'

/** The memory of a process of its own that enqueues and executes many Jobs. */
export function memory({ url, scale }) {
  return memoryOver({ url, schema: 'memory' }, scale.memory)
}
