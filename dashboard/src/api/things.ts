import type { Answered } from '../../../src/client/request.ts'

type ItemOf<Page> = Page extends { readonly items: readonly (infer Item)[] } ? Item : never

export type Job = Extract<Answered<'GET /api/jobs/{job_id}'>, { job_id: string }>
export type Run = Answered<'GET /api/job-runs/{run_id}'>
export type ListedRun = ItemOf<Answered<'GET /api/job-runs'>>
export type Chain = Answered<'GET /api/jobs/{job_id}/chain'>
export type LogLine = ItemOf<Answered<'GET /api/jobs/{job_id}/logs'>>
export type Schedule = Answered<'GET /api/schedules/{schedule_id}'>
/** A job as far as a strip of outcomes tells of it. */
export type LatestJob = NonNullable<ItemOf<Answered<'GET /api/schedules'>>['latest_jobs']>[number]
export type Preview = Answered<'POST /api/schedules/preview'>
export type Template = Answered<'GET /api/job-templates/{template_id}'>
export type Group = Answered<'GET /api/job-groups/{group_id}'>
export type Reservation = Answered<'GET /api/reservations/{reservation_id}'>
export type Webhook = Answered<'GET /api/webhooks/{webhook_id}'>
export type Delivery = Answered<'GET /api/webhook-deliveries/{delivery_id}'>
export type Node = ItemOf<Answered<'GET /api/nodes'>>
export type JobType = ItemOf<Answered<'GET /api/job-types'>>
export type Failures = Answered<'GET /api/failures'>
export type Operation = Answered<'GET /api/operations/{operation_id}'>
export type AuditEntry = ItemOf<Answered<'GET /api/audit'>>
export type ApiKey = ItemOf<Answered<'GET /api/keys'>>
export type Statistics = Answered<'GET /api/statistics'>
