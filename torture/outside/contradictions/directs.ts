import type { StoredReservation } from '../history.ts'
import { byKey, type Facts } from './facts.ts'

/** I2, I4 and I16. Each direct execution has at most one reservation and one body, and was asked for. */
export function* directsRanOnce(facts: Facts): Iterable<string> {
  const { evidence, directs, reservations, bodies } = facts
  for (const [n, same] of byKey(evidence.history.reservations, ({ order }) => order.n)) {
    if (same.length > 1) yield `I4: direct execution ${n} made ${same.length} reservations.`
    if (!directs.has(n)) yield `I2: reservation ${same[0]?.reservationId} (${n}) was never asked for.`
  }
  const ofDirects = bodies.filter(({ began }) => directs.has(began.n))
  for (const [n, same] of byKey(ofDirects, ({ began }) => began.n)) {
    if (same.length > 1) yield `I4: ${same.length} bodies of direct execution ${n} began.`
    const id = same[0]?.began.jobId ?? ''
    if (!reservations.has(id)) yield `I2: a body of direct execution ${n} began for ${id}, which is no reservation.`
  }
  for (const { reservationId, order, status, outcome, reason, node } of evidence.history.reservations) {
    const body = facts.bodyOf.get(reservationId)
    const said = `I16: reservation ${reservationId} (${order.n}) on ${node} is ${status} ${outcome ?? ''} ${reason ?? ''}`
    if (reason === 'crash') {
      if (node === null || !facts.isUnreliable(node)) yield `${said}, but its node was never killed.`
    } else if (outcome !== null) {
      const became = BECOMES[body?.ended?.how ?? 'cut off']
      if (became !== outcome) yield `${said}, but its body ${body?.ended?.how ?? 'is missing'}.`
    } else if (body !== undefined) yield `${said}, but a body began.`
  }
}

const BECOMES: Readonly<Record<string, string>> = { returned: 'COMPLETED', threw: 'FAILED', skipped: 'SKIPPED' }

/** I16. The caller hears what came of it, and what came of it is what the body did. */
export function* callersHeardTheTruth({ evidence, bodies, reservations, directs }: Facts): Iterable<string> {
  const bodyOf = new Map(bodies.map((body) => [body.began.n, body]))
  for (const { n, how, result, reservationId } of evidence.recorded.directs) {
    const body = bodyOf.get(n)
    const said = `I16: the caller of direct execution ${n} heard \`${how}\``
    const does = body?.ended?.how ?? (body === undefined ? 'never began' : 'was cut off')
    const stored = reservationId === null ? undefined : reservations.get(reservationId)
    switch (how) {
      case 'returned':
      case 'skipped':
        if (does !== how) yield `${said}, but its body ${does}.`
        if (how === 'returned' && result !== n) yield `${said} ${String(result)}, which is not what it returned.`
        if (stored?.status !== 'RELEASED') yield `${said}, but its reservation is ${stored?.status ?? 'missing'}.`
        break
      case 'failed: error':
        if (does !== 'threw' || directs.get(n)?.order.does !== 'refuses') yield `${said}, but its body ${does}.`
        break
      case 'failed: crash':
        if (stored?.reason !== 'crash') yield `${said}, but its reservation says ${stored?.reason ?? 'nothing'}.`
        break
      case 'direct_wait_timeout':
      case 'direct_expired':
      case 'no_node':
        if (body !== undefined) yield `${said}, but its body began.`
        break
      default:
        yield `${said}.`
    }
  }
}

/**
 * I11. Tickets of the same type are served in the order of their arrival, where commits have an order. `startedAt` is taken
 * before the commit that serves a ticket and its body begins after it: so one was served before the other for certain if its
 * body had begun when the other's time was taken.
 */
export function* ticketsCameInOrder({ evidence, bodyOf }: Facts): Iterable<string> {
  if (evidence.history.commits === null) return
  for (const [type, tickets] of byKey(evidence.history.reservations, (one) => one.type)) {
    let latest: StoredReservation | null = null
    for (const ticket of tickets) {
      const began = bodyOf.get(ticket.reservationId)?.began
      if (latest?.startedAt != null && began !== undefined && began.wall < latest.startedAt)
        yield `I11: ticket ${ticket.reservationId} of ${type} was served before ${latest.reservationId}, which came before it.`
      if (ticket.startedAt !== null && ticket.startedAt > (latest?.startedAt ?? 0)) latest = ticket
    }
  }
}
