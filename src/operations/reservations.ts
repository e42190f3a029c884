import { readWord, refuseUnknownKeys } from '../domain/options.ts'
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
