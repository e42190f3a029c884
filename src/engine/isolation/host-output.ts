import type { Writable } from 'node:stream'

/** Resolves when all that was printed so far has left this thread or process. Exiting before that would lose it. */
export async function flushOutput(): Promise<void> {
  await Promise.all([process.stdout, process.stderr].map(flush))
}

function flush(stream: Writable): Promise<void> {
  // The callback comes after all earlier writes, also with an error when the stream was closed.
  return new Promise((resolve) => stream.write('', () => resolve()))
}
