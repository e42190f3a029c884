import type { Reservation } from '../../domain/reservation.ts'
import { wireInstant } from '../../domain/wire.ts'
import { runDirect } from '../../operations/direct.ts'
import { getReservation, listReservations } from '../../operations/reservations.ts'
import * as contract from '../contract/direct.ts'
import { ok } from './answer.ts'
import { given } from './given.ts'
import { type Route, route } from './handler.ts'
import { paramsOf } from './job-requests.ts'
import { okPage, pageOptions } from './pages.ts'

function wireReservation(reservation: Reservation) {
  return {
    reservation_id: reservation.reservationId,
    job_type: reservation.type,
    status: reservation.status,
    params: reservation.params,
    caller_node: reservation.callerNodeId,
    node: reservation.nodeId,
    created_by: reservation.createdBy,
    created_at: wireInstant(reservation.createdAt),
    started_at: wireInstant(reservation.startedAt),
    finished_at: wireInstant(reservation.endedAt),
    outcome: reservation.outcome,
    reason: reservation.reason,
    error: reservation.error,
    result: reservation.result,
  }
}

export const directRoutes: readonly Route[] = [
  route(contract.runDirect, async ({ context, door, actor, params, body, signal }) => {
    const options = given({ waitTimeoutMs: body.wait_timeout_ms, onBusy: body.on_busy })
    const asked = { ...options, signal, createdBy: actor.name }
    const end = await runDirect(context, door.directs, params.type, paramsOf(body), asked)
    return ok({
      reservation_id: end.reservationId,
      result: end.result,
      skipped: end.skipped,
      started_at: wireInstant(end.startedAt),
      finished_at: wireInstant(end.finishedAt),
    })
  }),

  route(contract.listReservations, async ({ context, query }) => {
    const page = await listReservations(context, { ...pageOptions(query), ...given({ status: query.status }) })
    return okPage(page, wireReservation)
  }),

  route(contract.getReservation, async ({ context, params }) =>
    ok(wireReservation(await getReservation(context, params.reservation_id))),
  ),
]
