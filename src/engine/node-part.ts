import type { StoreSignal } from '../store/events.ts'

/** Something that works in the background of a node, besides executing. */
export interface NodePart {
  /** `claiming`: it rests while the node is stopped. `living`: it goes on until the node leaves. */
  readonly during: 'claiming' | 'living'
  /** Nothing of it is under way: it only waits for an instant or a sign. */
  readonly isQuiet: boolean
  start(): void
  /** Begins nothing more. Resolves when nothing of it is under way. */
  stop(): Promise<void>
  hear(signal: StoreSignal): void
}
