export { type FaultPoint, onFaultPoint } from '../store/fault-points.ts'
export type { Duration } from './duration.ts'
export { SettableClock } from './settable-clock.ts'
export { openTestScheduler, type TestScheduler, type TestSchedulerOptions } from './test-scheduler.ts'
