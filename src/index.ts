export type {
  BulkCancelMode,
  BulkCounts,
  BulkKind,
  BulkOperation,
  BulkSkipReason,
  BulkStatus,
} from './domain/bulk-operation.ts'
export type { Chain, ChainOutcome } from './domain/chain.ts'
export type { OnParentFailure } from './domain/dependency.ts'
export { type ErrorCode, NonRetryableError, PawlError } from './domain/errors.ts'
export type { Group, GroupCounts, GroupMode, GroupStatus, OnMemberFailure } from './domain/group.ts'
export { type CancelMode, type Hold, type Job, type JobPolicy, type JobStatus, jobVersion } from './domain/job.ts'
export type { JsonObject, JsonValue } from './domain/json.ts'
export type { BackoffOptions, RetryOptions } from './domain/options.ts'
export type { Reservation, ReservationReason, ReservationStatus } from './domain/reservation.ts'
export type { Backoff, RetryCounts, RetryPolicy } from './domain/retry.ts'
export type { Artifact, FailureReason, LogLevel, Progress, Run, RunStatus } from './domain/run.ts'
export type {
  MissedPolicy,
  OverlapPolicy,
  Schedule,
  ScheduleTarget,
  SkippedSlots,
  SkipReason,
} from './domain/schedule.ts'
export type { PreviewedSlot, Timing } from './domain/slots.ts'
export type { Template } from './domain/template.ts'
export type { Delivery, DeliveryStatus, Webhook, WebhookEvent } from './domain/webhook.ts'
export { WHY_CODES, type Why, type WhyCode, type WhyHolder, type WhyJob, type WhyReason } from './domain/why.ts'
export type { ClaimQuestion, ConcurrencyPolicy } from './engine/concurrency-policy.ts'
export type { LateFinish } from './engine/executor.ts'
export type { RecoveryStats } from './engine/recovery.ts'
export type { BulkOperations } from './library/bulk-operations.ts'
export { defineConfig, type PawlConfig, type ServerConfig } from './library/config.ts'
export {
  type CommandJob,
  defineJob,
  type HandlerJob,
  type JobTypeOptions,
  type ModuleJob,
} from './library/define-job.ts'
export type { LocalEvents, SchedulerEvents } from './library/event-listeners.ts'
export type { GroupHandle, Groups } from './library/groups.ts'
export type { JobHandle, Settled } from './library/job-handle.ts'
export type { AnyJobType, InputOf, JobContext, JobType, JsonCompatible, ResultOf, Skipped } from './library/job-type.ts'
export type { EnqueueItem, GraphItem } from './library/listed-jobs.ts'
export { openScheduler } from './library/open-scheduler.ts'
export type { Scheduler } from './library/scheduler.ts'
export type { SchedulerOptions, WebhookSendingOptions } from './library/scheduler-options.ts'
export { previewSchedule, type Schedules } from './library/schedules.ts'
export type { Templates } from './library/templates.ts'
export type { Webhooks } from './library/webhooks.ts'
export type { WithinTransaction } from './library/within-transaction.ts'
export type { BulkMatch, BulkOptions } from './operations/bulk-operations.ts'
export type { Cancellation, CancelOptions } from './operations/cancel-job.ts'
export type { DirectOptions, DirectResult } from './operations/direct.ts'
export type { EditOptions } from './operations/edit-job.ts'
export type { EnqueueOptions } from './operations/enqueue-options.ts'
export type { FailureGroup, FailureOptions, Failures } from './operations/failures.ts'
export type { GroupOptions } from './operations/groups.ts'
export type { JobSearch } from './operations/job-search.ts'
export type { MoveOptions, NewPlace } from './operations/move-job.ts'
export type { PreviewOptions, PreviewRange, SchedulePreview } from './operations/preview-schedule.ts'
export type { Pruned, PruneOptions } from './operations/prune-history.ts'
export type { JobFilterOptions, ListedJobs, LogEntry } from './operations/read-history.ts'
export type { ScheduleListOptions } from './operations/read-schedules.ts'
export type { TemplateListOptions } from './operations/read-templates.ts'
export type { Minute, Percentiles, RecentStatistics } from './operations/recent-statistics.ts'
export type { ManualRetry, ManualRetryOptions } from './operations/retry-job.ts'
export type { RemoveOptions } from './operations/revisions.ts'
export type { ScheduleChange, ScheduleOptions } from './operations/schedule-options.ts'
export type { Hour, Statistics } from './operations/statistics.ts'
export type { TemplateChange, TemplateOptions } from './operations/template-options.ts'
export type { TriggerOptions } from './operations/trigger-schedule.ts'
export type { DeliveryListOptions, ReplayOptions } from './operations/webhook-deliveries.ts'
export type { WebhookChange, WebhookOptions } from './operations/webhook-options.ts'
export type { RotatedSecret } from './operations/webhook-secrets.ts'
export type { NewWebhook } from './operations/webhooks.ts'
export type { Clock, Timer } from './platform/clock.ts'
export type { Logger } from './platform/logger.ts'
export type { Random } from './platform/random.ts'
export type { PostRequest, PostResult } from './platform/webhook-post.ts'
export type { OperationProgress, Transition, TransitionKind } from './store/events.ts'
export type { MoveTarget, Page } from './store/jobs.ts'
export type { LimitRecord } from './store/maintenance.ts'
export type { NodeRecord } from './store/nodes.ts'
export type { RecordedSkip } from './store/schedules.ts'
export type { Counts, QueueCounts } from './store/statistics.ts'
export type { Store, StoreSource } from './store/store.ts'
