import type { JobPolicy } from '../../../domain/job.ts'
import { readPolicy } from '../../shared/read-policy.ts'
import type { Connection } from '../connection.ts'
import type { Interned, Lane, Transaction } from '../transaction.ts'

const SELECT_LANE = 'select lane_id from pawl_lanes where type = ? and resources = ?'
const INSERT_LANE = 'insert into pawl_lanes (type, resources) values (?, ?)'
const SELECT_LANE_BY_ID = 'select type, resources from pawl_lanes where lane_id = ?'

/** The lane of Jobs with this type and these resources; made when it is the first of its kind. */
export function internLane(transaction: Transaction, type: string, resources: readonly string[]): Lane {
  const { connection, interned } = transaction
  const key = resources.length === 0 ? type : `${type} ${JSON.stringify(resources)}`
  let lane = interned.lanesByKey.get(key)
  if (lane === undefined) {
    const resourcesText = JSON.stringify(resources)
    const laneId =
      connection.get<{ lane_id: number }>(SELECT_LANE, type, resourcesText)?.lane_id ??
      connection.insert(INSERT_LANE, type, resourcesText)
    lane = { laneId, type, resources }
    interned.lanesByKey.set(key, lane)
    interned.lanesById.set(laneId, lane)
  }
  return lane
}

export function laneById(connection: Connection, interned: Interned, laneId: number): Lane {
  let lane = interned.lanesById.get(laneId)
  if (lane === undefined) {
    const row = connection.get<{ type: string; resources: string }>(SELECT_LANE_BY_ID, laneId)
    lane = { laneId, type: row?.type ?? '', resources: JSON.parse(row?.resources ?? '[]') as string[] }
    interned.lanesById.set(laneId, lane)
  }
  return lane
}

const SELECT_POLICY = 'select policy_id from pawl_policies where body = ?'
const INSERT_POLICY = 'insert into pawl_policies (body) values (?)'
const SELECT_POLICY_BY_ID = 'select body from pawl_policies where policy_id = ?'

export function internPolicy(transaction: Transaction, policy: JobPolicy): number {
  const { connection, interned } = transaction
  let body = interned.policyTexts.get(policy)
  if (body === undefined) {
    body = JSON.stringify(policy)
    interned.policyTexts.set(policy, body)
  }
  let policyId = interned.policyIds.get(body)
  if (policyId === undefined) {
    policyId =
      connection.get<{ policy_id: number }>(SELECT_POLICY, body)?.policy_id ?? connection.insert(INSERT_POLICY, body)
    if (interned.policyIds.size >= INTERNED_POLICIES_MAX) interned.policyIds.clear()
    interned.policyIds.set(body, policyId)
  }
  return policyId
}

/** Somebody may give each Job a timeout of its own: what is remembered must not grow with that. */
const INTERNED_POLICIES_MAX = 1_000

export function policyById(connection: Connection, interned: Interned, policyId: number): JobPolicy {
  let policy = interned.policiesById.get(policyId)
  if (policy === undefined) {
    const text = connection.get<{ body: string }>(SELECT_POLICY_BY_ID, policyId)?.body ?? ''
    policy = readPolicy(text, damagedPolicy(policyId), { policyId })
    if (interned.policiesById.size >= INTERNED_POLICIES_MAX) interned.policiesById.clear()
    interned.policiesById.set(policyId, policy)
  }
  return policy
}

function damagedPolicy(policyId: number): string {
  return (
    `The stored policy number ${policyId} is damaged, so Jobs that have it can neither be read nor started. ` +
    'Restore a backup: what it was cannot be known. `pawl doctor` tells what else is damaged.'
  )
}
