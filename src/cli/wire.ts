import type { Answered } from '../client/request.ts'

export type { Answered }

export type Job = Answered<'GET /api/jobs/{job_id}'>
export type Chain = Answered<'GET /api/jobs/{job_id}/chain'>
export type Run = Answered<'GET /api/job-runs'>['items'][number]
export type LogLine = Answered<'GET /api/job-runs/{run_id}/logs'>['items'][number]
export type Output = Answered<'GET /api/job-runs/{run_id}/output'>
export type Schedule = Answered<'GET /api/schedules/{schedule_id}'>
export type Template = Answered<'GET /api/job-templates/{template_id}'>
export type Group = Answered<'GET /api/job-groups/{group_id}'>
export type Webhook = Answered<'GET /api/webhooks/{webhook_id}'>
export type Delivery = Answered<'GET /api/webhook-deliveries/{delivery_id}'>
export type Operation = Answered<'GET /api/operations/{operation_id}'>
