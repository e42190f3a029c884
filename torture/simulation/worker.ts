// Examines one seed after the other, in a thread of its own.
import { parentPort } from 'node:worker_threads'
import { examine } from './examine.ts'

parentPort?.on('message', (seed: number) => {
  void examine(seed).then((examined) => parentPort?.postMessage(examined))
})
