export { PawlApiError } from './api-error.ts'
export { type Client, type ClientOptions, clientOver, createClient } from './client.ts'
export type { StreamedEvent, Transport } from './transport.ts'
