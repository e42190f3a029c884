// A schedule over the weekend on which the clocks change, on a virtual clock; and what becomes of nights without a process.
import assert from 'node:assert/strict'
import { defineJob, previewSchedule } from 'pawl'
import { openTestScheduler, SettableClock } from 'pawl/testing'

const backup = defineJob({ type: 'backup', run: () => 'backed up' })
const nightly = { cron: '30 2 * * *', timezone: 'Europe/Berlin' }

// In the night to 29 March there is no half past two: the clocks leap from 2 to 3.
const friday = new Date('2026-03-27T12:00:00Z')
const preview = previewSchedule({ ...nightly, from: friday, count: 3 })
for (const { local, note } of preview.items) console.log(local, note ?? '')
assert.equal(preview.items[1]?.note, 'dst-gap')

const kit = await openTestScheduler({ jobs: [backup], clock: new SettableClock(friday) })
const { scheduler } = kit
const { scheduleId } = await scheduler.schedules.create({ name: 'nightly', type: backup, ...nightly, missed: 'one' })

// The weekend goes by, and each night has its backup, at the instant that the preview named.
await kit.advance('3d')
const backups = (await scheduler.listJobs({ scheduleId })).items
assert.deepEqual(
  backups.map(({ slotAt }) => slotAt).toReversed(),
  preview.items.map(({ at }) => at),
)
assert(backups.every(({ outcome }) => outcome === 'COMPLETED'))

// Nobody works for a week. Then the latest of the seven missed nights is made up for, and the others are recorded.
await scheduler.stop()
await kit.advance('7d')
await scheduler.start()
await kit.runUntilIdle()
assert.equal((await scheduler.listJobs({ scheduleId })).items.length, 4)
const [skipped] = (await scheduler.schedules.listSkipped(scheduleId)).items
assert.equal(skipped?.count, 6)
console.log(`after a week off: 1 backup, ${skipped?.count} nights skipped (${skipped?.reason})`)

await kit.close()
