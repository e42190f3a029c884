/**
 * A limit is a number of permits that hold across all nodes of a store. Its name says what it limits:
 * `running` (all bodies), `type:<name>` or `resource:<name>`.
 */
export const RUNNING_LIMIT = 'running'

export function typeLimit(type: string): string {
  return `type:${type}`
}

export function resourceLimit(resource: string): string {
  return `resource:${resource}`
}

/** Every limit of which a body of this type with these resources takes one permit. */
export function limitsTaken(type: string, resources: readonly string[]): string[] {
  return [RUNNING_LIMIT, typeLimit(type), ...resources.map(resourceLimit)]
}

export const RESOURCE_PATTERN = /^[a-z0-9][a-z0-9._-]{0,127}$/
export const RESOURCES_PER_JOB_MAX = 32
export const LIMIT_MAX = 1_000_000
export const CONCURRENCY_MAX = 1_000
