import type { Group, GroupMode, OnMemberFailure } from '../domain/group.ts'
import type { CancelMode } from '../domain/job.ts'
import type { EnqueueResult, NewJob, Page } from './jobs.ts'

export interface NewGroup {
  readonly groupId: string
  readonly name: string | null
  readonly mode: GroupMode
  readonly onFailure: OnMemberFailure
  readonly createdBy: string | null
}

export interface GroupFilter {
  readonly limit: number
  readonly cursor?: string | null
}

export interface GroupStore {
  /**
   * Writes the group and all its members, or nothing. Members of a sequential group wait for each other in the given
   * order. No member has an idempotency key.
   */
  createGroup(group: NewGroup, members: readonly NewJob[], now: number): Promise<EnqueueResult>

  /** Orders the cancellation of all members that have not ended. `ended`: the group had settled. */
  cancelGroup(request: {
    readonly groupId: string
    readonly mode: CancelMode
    readonly reason: string | null
    readonly now: number
  }): Promise<'requested' | 'ended' | 'not-found'>

  findGroup(groupId: string): Promise<Group | null>

  /** Of the given groups, those that have settled or are not there any more. */
  findSettledGroups(groupIds: readonly string[]): Promise<readonly string[]>

  /** Newest first. */
  listGroups(filter: GroupFilter): Promise<Page<Group>>
}

export interface CascadeStore {
  /** Whether a cascade is stored. */
  hasCascades(): Promise<boolean>

  /**
   * Carries out one page of a stored cascade: releases, cancels, skips or revives up to `limit` dependents or members, in
   * one transaction with the note of how far it came. `idle`: there is none, others carry them out right now, or this
   * node may not write.
   */
  applyCascade(request: {
    /** Skipped members get a Run, and this node is its author. */
    readonly nodeId: string
    readonly newId: () => string
    readonly limit: number
    readonly now: number
  }): Promise<'applied' | 'idle'>
}
