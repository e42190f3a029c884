import type { Transport } from './transport.ts'

/** The way over HTTP. */
export function httpTransport(_options: { readonly server: string; readonly apiKey?: string }): Transport {
  throw new Error('being built')
}
