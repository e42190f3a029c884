import type { StatisticsStore } from '../store/statistics.ts'

const HOUR_MS = 3_600_000

/** So long the statistics of each minute are kept: ten minutes longer than they are shown, because clocks differ. */
const MINUTES_KEPT_MS = 70 * 60_000

/** So long those of each node are kept apart, and so long those of each hour. */
const NODES_KEPT_MS = 48 * HOUR_MS
const HOURS_KEPT_MS = 90 * 24 * HOUR_MS

/** Rows that one transaction adds up. */
const FOLD_MINUTES_MAX = 1_000

/** Keeps the statistics small, however long a store lives: minutes become hours, nodes one, and old hours one. */
export async function foldStatistics(
  store: Pick<StatisticsStore, 'foldMinutes' | 'foldHours'>,
  now: number,
): Promise<void> {
  const kept = now - MINUTES_KEPT_MS
  // Whole hours: of one whose minutes are shown, none are added up.
  const minutes = { before: kept - (kept % HOUR_MS), limit: FOLD_MINUTES_MAX }
  while ((await store.foldMinutes(minutes)) >= FOLD_MINUTES_MAX);
  await store.foldHours({ nodesBefore: now - NODES_KEPT_MS, hoursBefore: now - HOURS_KEPT_MS })
}
