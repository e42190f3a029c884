/** What recovery found and did. */
export interface RecoveryStats {
  readonly runningJobsRecovered: number
  /** Tickets whose callers are dead, and direct executions whose nodes are. */
  readonly reservationsExpired: number
  readonly retriesCreated: number
  /** Groups of which a member was recovered. */
  readonly jobGroupsRecovered: number
  readonly errors: readonly string[]
}

/** The same while it is being counted. */
export class RecoveryTally {
  runningJobsRecovered = 0
  reservationsExpired = 0
  retriesCreated = 0
  readonly groupsRecovered = new Set<string>()
  readonly errors: string[] = []

  add(other: RecoveryTally): void {
    this.runningJobsRecovered += other.runningJobsRecovered
    this.reservationsExpired += other.reservationsExpired
    this.retriesCreated += other.retriesCreated
    for (const groupId of other.groupsRecovered) this.groupsRecovered.add(groupId)
    this.errors.push(...other.errors)
  }

  stats(): RecoveryStats {
    const { runningJobsRecovered, reservationsExpired, retriesCreated, groupsRecovered, errors } = this
    const jobGroupsRecovered = groupsRecovered.size
    return { runningJobsRecovered, reservationsExpired, retriesCreated, jobGroupsRecovered, errors }
  }
}
