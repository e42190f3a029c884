import { assert } from '../../../domain/errors.ts'
import type { JobPolicy } from '../../../domain/job.ts'
import { resourceLimit } from '../../../domain/limits.ts'
import type { Connection } from '../connection.ts'
import type { Interned, Lane, Transaction } from '../transaction.ts'

/** Somebody may give each Job a timeout of its own: what is remembered must not grow with that. */
const INTERNED_POLICIES_MAX = 1_000

/** Makes sure that lanes and policies are written and known, in a commit of their own, if any is missing. */
export async function internAll(
  interned: Interned,
  plans: readonly { readonly type: string; readonly policy: JobPolicy }[],
  onConnection: (work: (connection: Connection) => Promise<void>) => Promise<void>,
): Promise<void> {
  const lanes = new Map<string, { type: string; resources: readonly string[] }>()
  const policies = new Set<string>()
  for (const { type, policy } of plans) {
    const key = laneKey(type, policy.resources)
    if (!interned.lanesByKey.has(key)) lanes.set(key, { type, resources: policy.resources })
    const body = textOf(interned, policy)
    if (!interned.policyIds.has(body)) policies.add(body)
  }
  if (lanes.size === 0 && policies.size === 0) return
  await onConnection(async (connection) => {
    for (const { type, resources } of lanes.values()) await writeLane(connection, interned, type, resources)
    if (interned.policyIds.size + policies.size > INTERNED_POLICIES_MAX) interned.policyIds.clear()
    for (const body of policies) interned.policyIds.set(body, await writePolicy(connection, body))
  })
}

// No row: it was there.
const INSERT_LANE = `
insert into pawl.lanes (type, resources) values ($1, $2)
on conflict (type, resources) do nothing`

const SELECT_LANE = 'select lane_id from pawl.lanes where type = $1 and resources = $2'

// A resource that nobody gave a limit is exclusive: that is what naming a resource means.
const INSERT_PERMIT = 'insert into pawl.permits (name, slot) values ($1, 1) on conflict (name, slot) do nothing'

async function writeLane(
  connection: Connection,
  interned: Interned,
  type: string,
  resources: readonly string[],
): Promise<void> {
  const text = JSON.stringify(resources)
  let found = await connection.get<{ lane_id: number }>(SELECT_LANE, type, text)
  if (found === undefined) {
    for (const resource of resources) await connection.run(INSERT_PERMIT, resourceLimit(resource))
    await connection.run(INSERT_LANE, type, text)
    found = await connection.get<{ lane_id: number }>(SELECT_LANE, type, text)
  }
  assert(found !== undefined, `lane ${type} ${text} was just written`)
  const lane = { laneId: found.lane_id, type, resources }
  interned.lanesByKey.set(laneKey(type, resources), lane)
}

const INSERT_POLICY = `
insert into pawl.policies (body, digest) values ($1, sha256(convert_to($1, 'UTF8')))
on conflict (digest) do nothing`

const SELECT_POLICY = "select policy_id from pawl.policies where digest = sha256(convert_to($1, 'UTF8'))"

async function writePolicy(connection: Connection, body: string): Promise<number> {
  let found = await connection.get<{ policy_id: number }>(SELECT_POLICY, body)
  if (found === undefined) {
    await connection.run(INSERT_POLICY, body)
    found = await connection.get<{ policy_id: number }>(SELECT_POLICY, body)
  }
  assert(found !== undefined, 'a policy was just written')
  return found.policy_id
}

function laneKey(type: string, resources: readonly string[]): string {
  return resources.length === 0 ? type : `${type} ${JSON.stringify(resources)}`
}

function textOf(interned: Interned, policy: JobPolicy): string {
  let body = interned.policyTexts.get(policy)
  if (body === undefined) {
    body = JSON.stringify(policy)
    interned.policyTexts.set(policy, body)
  }
  return body
}

/** The lane of Jobs with this type and these resources. `internAll` was called for it before the transaction began. */
export function internLane({ interned }: Transaction, type: string, resources: readonly string[]): Lane {
  const lane = interned.lanesByKey.get(laneKey(type, resources))
  assert(lane !== undefined, `the lane of ${type} is used before it was written`)
  return lane
}

/** The number of a policy. Written now if it was forgotten since `internAll`. */
export async function internPolicy({ connection, interned }: Transaction, policy: JobPolicy): Promise<number> {
  const body = textOf(interned, policy)
  return interned.policyIds.get(body) ?? writePolicy(connection, body)
}

/** The numbers of a Job's lane and policy. Null: one of them is not known here. */
export function findInterned(
  interned: Interned,
  { type, policy }: { readonly type: string; readonly policy: JobPolicy },
): { readonly laneId: number; readonly policyId: number } | null {
  const lane = interned.lanesByKey.get(laneKey(type, policy.resources))
  const policyId = interned.policyIds.get(textOf(interned, policy))
  return lane === undefined || policyId === undefined ? null : { laneId: lane.laneId, policyId }
}

const SELECT_POLICY_BY_ID = 'select body from pawl.policies where policy_id = $1'

export async function policyById(connection: Connection, interned: Interned, policyId: number): Promise<JobPolicy> {
  let policy = interned.policiesById.get(policyId)
  if (policy === undefined) {
    const row = await connection.get<{ body: string }>(SELECT_POLICY_BY_ID, policyId)
    policy = JSON.parse(row?.body ?? '{}') as JobPolicy
    if (interned.policiesById.size >= INTERNED_POLICIES_MAX) interned.policiesById.clear()
    if (row !== undefined) interned.policiesById.set(policyId, policy)
  }
  return policy
}
