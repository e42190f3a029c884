import type { Store } from 'pawl/store'

/** What has not come to an end (I15), in words. */
export async function findLeftOver(store: Store, now: number): Promise<string[]> {
  const left: string[] = []
  for (const status of ['QUEUED', 'RUNNING'] as const) {
    const { items } = await store.listJobs({ status, limit: 100 }, now)
    left.push(
      ...items.map(
        (job) => `I15: job ${job.jobId} of ${JSON.stringify(job.params)} is still ${status} ${job.hold ?? ''}.`,
      ),
    )
  }
  const { items: deliveries } = await store.listDeliveries({ status: 'PENDING', limit: 100 })
  left.push(...deliveries.map(({ deliveryId }) => `I15: delivery ${deliveryId} is still pending.`))
  for (const status of ['WAITING', 'RUNNING'] as const) {
    const { items } = await store.listReservations({ status, limit: 100 })
    left.push(...items.map(({ reservationId }) => `I15: reservation ${reservationId} is still ${status}.`))
  }
  if (await store.hasCascades()) left.push('I15: a cascade has not been carried out.')
  const vitals = await store.readVitals(now)
  left.push(...vitals.bodies.map(({ id }) => `I15: a body of ${id} is still recorded.`))
  return left
}
