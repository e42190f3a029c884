import type { Standing } from '../domain/standing.ts'

export * from '../domain/standing.ts'

export interface StandingStore {
  /**
   * Where a Job stands, read in one go. Null: there is no such Job. It costs the same at any backlog and history: besides
   * the Job it reads bodies, nodes and limits, which are few, and of everything else no more than the named numbers.
   */
  findStanding(jobId: string, now: number): Promise<Standing | null>
}
