import { z } from 'zod'
import { WAIT_TIMEOUT_MAX_MS } from '../../operations/direct.ts'
import { endpoint } from './endpoint.ts'
import { instantOut, json, jsonOut, pageOf, pageQuery, pathId, redactable } from './fields.ts'
import { runStatus } from './job.ts'
import { failureReason } from './run.ts'

const reservationStatus = z.enum(['WAITING', 'RUNNING', 'RELEASED', 'EXPIRED'])

const reservation = z
  .object({
    reservation_id: z.string(),
    job_type: z.string(),
    status: reservationStatus,
    params: jsonOut,
    /** The node that asked. */
    caller_node: z.string(),
    /** The node that executes or executed it. */
    node: z.string().nullable(),
    created_by: z.string().nullable(),
    created_at: instantOut,
    started_at: instantOut.nullable(),
    finished_at: instantOut.nullable(),
    outcome: runStatus.nullable(),
    reason: z.enum([...failureReason.options, 'wait-timeout', 'caller-gone', 'expired']).nullable(),
    error: z.string().nullable(),
    result: jsonOut,
    ...redactable,
  })
  .meta({ id: 'Reservation' })

export const runDirect = endpoint({
  method: 'POST',
  path: '/api/direct/{type}',
  role: 'operator',
  action: 'direct.run',
  tag: 'Direct execution',
  summary: 'Execute a type in the next free place, before the queue, and answer with its result. It makes no Job.',
  params: z.object({ type: pathId }),
  body: z
    .strictObject({
      params: json.optional(),
      wait_timeout_ms: z.int().min(1).max(WAIT_TIMEOUT_MAX_MS).optional(),
      on_busy: z.enum(['wait', 'reject']).optional(),
    })
    .meta({ examples: [{ params: { genre: 'gothic' }, wait_timeout_ms: 60_000 }] }),
  isBodyOptional: true,
  responses: {
    200: z
      .object({
        reservation_id: z.string(),
        result: jsonOut,
        /** Why the handler skipped; then there is no result. */
        skipped: z.string().nullable(),
        started_at: instantOut,
        finished_at: instantOut,
        ...redactable,
      })
      .meta({ id: 'DirectResult' }),
  },
  problems: [
    'unknown_type',
    'invalid_params',
    'params_too_large',
    'unserialisable_params',
    'no_node',
    'direct_busy',
    'direct_failed',
    'direct_expired',
    'direct_wait_timeout',
  ],
})

export const listReservations = endpoint({
  method: 'GET',
  path: '/api/reservations',
  role: 'viewer',
  action: null,
  tag: 'Direct execution',
  summary: 'Direct executions, waiting, running and ended, newest first.',
  query: z.strictObject({ ...pageQuery, status: reservationStatus.optional() }),
  responses: { 200: pageOf(reservation) },
  problems: [],
})

export const getReservation = endpoint({
  method: 'GET',
  path: '/api/reservations/{reservation_id}',
  role: 'viewer',
  action: null,
  tag: 'Direct execution',
  summary: 'One direct execution.',
  params: z.object({ reservation_id: pathId }),
  responses: { 200: reservation },
  problems: ['not_found'],
})
