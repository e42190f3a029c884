import type { Reservation, ReservationReason, ReservationStatus } from '../../domain/reservation.ts'
import type { Schedule } from '../../domain/schedule.ts'
import type { Template } from '../../domain/template.ts'
import type { Delivery, Webhook } from '../../domain/webhook.ts'
import type { NewJob, Page } from '../../store/jobs.ts'
import type * as reservations from '../../store/reservations.ts'
import type { ChildIdentity } from '../../store/runs.ts'
import type * as schedules from '../../store/schedules.ts'
import type { Store } from '../../store/store.ts'
import type { TemplateFilter, TemplateStore } from '../../store/templates.ts'
import type * as webhooks from '../../store/webhooks.ts'
import { PostgresDoors } from './postgres-doors.ts'
import * as deliver from './statements/deliveries.ts'
import * as direct from './statements/reservations.ts'
import * as slots from './statements/schedules.ts'
import * as template from './statements/templates.ts'
import * as hooks from './statements/webhooks.ts'

/** What makes Jobs, what runs without one, and what tells the world: the part of the contract beside the way of a Job. */
export abstract class PostgresTriggers
  extends PostgresDoors
  implements TemplateStore, schedules.ScheduleStore, reservations.ReservationStore, webhooks.WebhookStore
{
  // Templates

  createTemplate(one: Template): Promise<void> {
    return this.write((transaction) => template.createTemplate(transaction, one))
  }

  changeTemplate(
    change: Parameters<Store['changeTemplate']>[0],
  ): Promise<'changed' | 'stale' | 'archived' | 'not-found'> {
    return this.write((transaction) => template.changeTemplate(transaction, change))
  }

  archiveTemplate(
    templateId: string,
    now: number,
    revision?: number | null,
  ): Promise<'archived' | 'stale' | 'not-found'> {
    return this.write((transaction) => template.archiveTemplate(transaction, templateId, now, revision))
  }

  findTemplate(templateId: string): Promise<Template | null> {
    return this.read((connection) => template.findTemplate(connection, templateId))
  }

  listTemplates(filter: TemplateFilter): Promise<Page<Template>> {
    return this.read((connection) => template.listTemplates(connection, filter))
  }

  // Schedules

  createSchedule(schedule: Schedule): Promise<void> {
    return this.write((transaction) => slots.createSchedule(transaction, schedule))
  }

  declareSchedule(name: string, schedule: Schedule): Promise<Schedule> {
    return this.write((transaction) => slots.declareSchedule(transaction, name, schedule))
  }

  findSchedule(scheduleId: string): Promise<Schedule | null> {
    return this.read((connection) => slots.findSchedule(connection, scheduleId))
  }

  listSchedules(filter: schedules.ScheduleFilter): Promise<Page<Schedule>> {
    return this.read((connection) => slots.listSchedules(connection, filter))
  }

  findDueSchedules(now: number, limit: number): Promise<readonly Schedule[]> {
    return this.read((connection) => slots.findDueSchedules(connection, now, limit))
  }

  findSchedulesPlannedAfter(instant: number, limit: number): Promise<readonly Schedule[]> {
    return this.read((connection) => slots.findSchedulesPlannedAfter(connection, instant, limit))
  }

  nextSlotAt(): Promise<number | null> {
    return this.read((connection) => slots.nextSlotAt(connection))
  }

  fireSlots(firings: readonly schedules.SlotFiring[], now: number): Promise<readonly schedules.FiringResult[]> {
    return slots.fireEach(firings, (firing) =>
      this.write((transaction) => slots.fireSlots(transaction, firing, now), slots.jobsOf(firing)),
    )
  }

  changeSchedule(
    change: Parameters<Store['changeSchedule']>[0],
  ): Promise<schedules.FiringResult | { readonly kind: 'not-found' }> {
    return this.write((transaction) => slots.changeSchedule(transaction, change), slots.jobsOf(change.firing))
  }

  disableSchedule(request: Parameters<Store['disableSchedule']>[0]): Promise<'disabled' | 'stale'> {
    return this.write((transaction) => slots.disableSchedule(transaction, request))
  }

  removeSchedule(scheduleId: string, revision?: number | null): Promise<'removed' | 'stale' | 'not-found'> {
    return this.write((transaction) => slots.removeSchedule(transaction, scheduleId, revision))
  }

  triggerSchedule(scheduleId: string, job: NewJob, now: number): Promise<schedules.TriggerResult> {
    return this.write((transaction) => slots.triggerSchedule(transaction, scheduleId, job, now), [job])
  }

  listSkippedSlots(scheduleId: string, limit: number, cursor?: string | null): Promise<Page<schedules.RecordedSkip>> {
    return this.read((connection) => slots.listSkippedSlots(connection, scheduleId, limit, cursor))
  }

  // Direct execution

  openTicket(ticket: reservations.NewTicket, now: number): Promise<'waiting' | 'busy' | 'no-node'> {
    return this.write((transaction) => direct.openTicket(transaction, ticket, now), [ticket])
  }

  renewTickets(reservationIds: readonly string[], now: number): Promise<readonly string[]> {
    return this.write((transaction) => direct.renewTickets(transaction, reservationIds, now))
  }

  releaseTicket(
    reservationId: string,
    reason: ReservationReason,
    now: number,
  ): Promise<'released' | 'running' | 'ended' | 'not-found'> {
    return this.write((transaction) => direct.releaseTicket(transaction, reservationId, reason, now))
  }

  expireTickets(renewedBefore: number, now: number): Promise<number> {
    return this.write((transaction) => direct.expireTickets(transaction, renewedBefore, now))
  }

  expireTicketsOf(nodeId: string, now: number): Promise<number> {
    return this.write((transaction) => direct.expireTicketsOf(transaction, nodeId, now))
  }

  finishDirectRuns(
    runs: readonly reservations.FinishedDirectRun[],
  ): Promise<readonly reservations.DirectFinishResult[]> {
    const plans = runs.flatMap(({ followUps }) => followUps)
    return this.write((transaction) => direct.finishDirectRuns(transaction, runs), plans)
  }

  releaseDirectOccupancies(claims: readonly reservations.DirectClaim[], now: number): Promise<void> {
    return this.write((transaction) => direct.releaseDirectOccupancies(transaction, claims, now))
  }

  recordDirectChild(claim: reservations.DirectClaim, child: ChildIdentity): Promise<'recorded' | 'late'> {
    return this.write((transaction) => direct.recordDirectChild(transaction, claim, child))
  }

  listDirectOccupancies(nodeId: string, limit: number): Promise<readonly reservations.DirectOccupancy[]> {
    return this.read((connection) => direct.listDirectOccupancies(connection, nodeId, limit))
  }

  findReservations(reservationIds: readonly string[]): Promise<readonly Reservation[]> {
    return this.read((connection) => direct.findReservations(connection, reservationIds))
  }

  findReservationStatuses(reservationIds: readonly string[]): Promise<ReadonlyMap<string, ReservationStatus>> {
    return this.read((connection) => direct.findReservationStatuses(connection, reservationIds))
  }

  listReservations(filter: reservations.ReservationFilter): Promise<Page<Reservation>> {
    return this.read((connection) => direct.listReservations(connection, filter))
  }

  pruneReservations(
    request: reservations.PruneReservationsRequest,
  ): Promise<{ readonly removed: number; readonly nextCursor: string | null }> {
    return this.write((transaction) => direct.pruneReservations(transaction, request))
  }

  countPrunableReservations(
    request: reservations.PruneReservationsRequest,
  ): Promise<{ readonly reservations: number; readonly nextCursor: string | null }> {
    return this.read((connection) => direct.countPrunableReservations(connection, request))
  }

  // Webhooks

  createWebhook(webhook: Webhook, secret: string): Promise<void> {
    return this.write((transaction) => hooks.createWebhook(transaction, webhook, secret))
  }

  changeWebhook(change: Parameters<Store['changeWebhook']>[0]): Promise<'changed' | 'stale' | 'not-found'> {
    return this.write((transaction) => hooks.changeWebhook(transaction, change))
  }

  rotateWebhookSecret(
    webhookId: string,
    secret: string,
    previousUntil: number,
    now: number,
  ): Promise<'rotated' | 'not-found'> {
    return this.write((transaction) => hooks.rotateWebhookSecret(transaction, webhookId, secret, previousUntil, now))
  }

  removeWebhook(webhookId: string, now: number, revision?: number | null): Promise<'removed' | 'stale' | 'not-found'> {
    return this.write((transaction) => hooks.removeWebhook(transaction, webhookId, now, revision))
  }

  findWebhook(webhookId: string): Promise<Webhook | null> {
    return this.read((connection) => hooks.findWebhook(connection, webhookId))
  }

  listWebhooks(filter: webhooks.WebhookFilter): Promise<Page<Webhook>> {
    return this.read((connection) => hooks.listWebhooks(connection, filter))
  }

  declareDefaultSecret(secret: string): Promise<string> {
    return this.write((transaction) => hooks.declareDefaultSecret(transaction, secret))
  }

  rotateDefaultSecret(secret: string, previousUntil: number): Promise<void> {
    return this.write((transaction) => hooks.rotateDefaultSecret(transaction, secret, previousUntil))
  }

  leaseDeliveries(request: webhooks.LeaseRequest): Promise<webhooks.LeasePage> {
    return this.write((transaction) => deliver.leaseDeliveries(transaction, request))
  }

  recordDeliveryAttempts(attempts: readonly webhooks.DeliveryAttempt[]): Promise<readonly ('recorded' | 'late')[]> {
    return this.write((transaction) => deliver.recordDeliveryAttempts(transaction, attempts))
  }

  releaseDeliveries(nodeId: string, now: number): Promise<number> {
    return this.write((transaction) => deliver.releaseDeliveries(transaction, nodeId, now))
  }

  nextDeliveryAt(after: number): Promise<number | null> {
    return this.read((connection) => deliver.nextDeliveryAt(connection, after))
  }

  findDelivery(deliveryId: string): Promise<Delivery | null> {
    return this.read((connection) => deliver.findDelivery(connection, deliveryId))
  }

  listDeliveries(filter: webhooks.DeliveryFilter): Promise<Page<Delivery>> {
    return this.read((connection) => deliver.listDeliveries(connection, filter))
  }

  replayDelivery(deliveryId: string, now: number): Promise<'replayed' | 'pending' | 'removed' | 'not-found'> {
    return this.write((transaction) => deliver.replayDelivery(transaction, deliveryId, now))
  }

  replayDeliveries(request: webhooks.ReplayRequest): Promise<webhooks.ReplayPage> {
    return this.write((transaction) => deliver.replayDeliveries(transaction, request))
  }
}
