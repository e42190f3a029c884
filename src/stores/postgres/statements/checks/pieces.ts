/**
 * Conditions that several questions share. Each stands for one sentence about a Job `j`, and all follow from Jobs and Runs
 * alone: what is derived from them is just what the questions are about.
 */

const HAS_ENDED_RUN = 'exists (select 1 from pawl.runs ended where ended.seq = j.seq and ended.status is not null)'

/** It is QUEUED or RUNNING. */
export const IS_LIVE = `(j.cancelled_at is null and not ${HAS_ENDED_RUN})`

/** The number of the first Job of its chain. */
export const CHAIN_SEQ =
  '(case when j.chain_id is null then j.seq else (select first.seq from pawl.jobs first where first.job_id = j.chain_id) end)'

/** The chain with this id has a live Job. */
export function isChainLive(chainId: string): string {
  return `(
    exists (select 1 from pawl.jobs j where j.job_id = ${chainId} and ${IS_LIVE})
    or exists (select 1 from pawl.jobs j where j.chain_id = ${chainId} and ${IS_LIVE})
  )`
}

/** How the chain with this id has ended: CANCELLED, or the status of its last Run. Null: it is live. */
export function outcomeOfChain(chainId: string): string {
  return `(
    select case when last.cancelled_at is not null then 'CANCELLED' else (select status from pawl.runs where seq = last.seq) end
    from pawl.jobs last
    where (last.job_id = ${chainId} or last.chain_id = ${chainId})
      and not exists (select 1 from pawl.jobs next where next.retry_of = last.job_id)
    limit 1
  )`
}

/** Chains of which a body executes right now: as many as there are bodies. */
export const OCCUPIED_CHAINS = `(
  select coalesce(body.chain_id, body.job_id)
  from pawl.occupancies o
  join pawl.jobs body on body.seq = o.seq
)`
