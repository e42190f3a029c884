import { Socket } from 'node:net'
import { parentPort } from 'node:worker_threads'
import { killOwnGroup } from '../../platform/process-group.ts'
import { LIFELINE_FD } from './lifeline.ts'

// A thread in the child that ends the child and its group when the node is gone, also while the handler blocks the main
// thread. It listens instead of blocking in a read, because a process cannot exit while a thread of it is in a read.

const lifeline = new Socket({ fd: LIFELINE_FD, readable: true, writable: false })
lifeline.on('error', killOwnGroup)
lifeline.on('close', killOwnGroup)
lifeline.resume()

parentPort?.postMessage('watching')
