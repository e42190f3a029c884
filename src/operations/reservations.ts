import { PawlError } from '../domain/errors.ts'
import { readText, readWord, refuseUnknownKeys } from '../domain/options.ts'
import type { Reservation, ReservationStatus } from '../domain/reservation.ts'
import type { Page } from '../store/jobs.ts'
import type { OperationContext } from './context.ts'
import { type PageOptions, readPage } from './read-history.ts'

/** The records of direct executions, newest first. */
export async function listReservations(
  context: OperationContext,
  options: PageOptions & { readonly status?: ReservationStatus } = {},
): Promise<Page<Reservation>> {
  refuseUnknownKeys(options, ['limit', 'cursor', 'status'], '')
  const { status } = options
  if (status !== undefined) readWord(status, ['WAITING', 'RUNNING', 'RELEASED', 'EXPIRED'], 'status')
  return context.store.listReservations({ ...readPage(options), ...(status === undefined ? {} : { status }) })
}

export async function getReservation(context: OperationContext, reservationId: string): Promise<Reservation> {
  const [reservation] = await context.store.findReservations([readText(reservationId, 'reservationId')])
  if (reservation !== undefined) return reservation
  throw new PawlError('not_found', `There is no reservation ${reservationId}. It never existed, or it was pruned.`, {
    details: { reservationId },
  })
}
