import type { IncomingMessage } from 'node:http'
import ipaddr from 'ipaddr.js'
import { type Problem, problem } from '../problems.ts'
import { isLoopbackAddress } from './listen-address.ts'

const HOST_HEADER = /^(\[[0-9a-f:.]+\]|[^:[\]]+)(?::\d{1,5})?$/i

/**
 * Refuses requests whose `Host` is not ours. A page of the attacker's can make a browser call this machine by giving its
 * own name our address (DNS rebinding); the `Host` then still says the attacker's name.
 */
export class HostGuard {
  readonly #names: ReadonlySet<string>
  /** Headers that were found to be ours: nearly all requests have the same few. */
  readonly #known = new Set<string>()

  /** @param names what this server is called besides loopback, with a port or without */
  constructor(names: readonly string[]) {
    this.#names = new Set(names.map((name) => name.toLowerCase()))
  }

  check(request: IncomingMessage): Problem | null {
    const { host } = request.headers
    if (countHosts(request.rawHeaders) > 1)
      return problem('malformed_request', 'Expected one header `Host`, got several.')
    if (host !== undefined && (this.#known.has(host) || this.#isOurs(host, request.socket.localAddress))) return null
    return problem(
      'host_refused',
      `Expected the header \`Host\` to be one of this server's names, got \`${shown(host)}\`. ` +
        'If it is meant, add it to `allowedHosts`.',
    )
  }

  #isOurs(header: string, localAddress: string | undefined): boolean {
    const name = HOST_HEADER.exec(header)?.[1]?.toLowerCase()
    if (name === undefined) return false
    const isNamed = this.#names.has(name) || this.#names.has(header.toLowerCase()) || isLoopbackName(name)
    if (isNamed && this.#known.size < KNOWN_MAX) this.#known.add(header)
    // Rebinding needs a name. Who calls this very address by its number, such as a prober, was not led here by one.
    return isNamed || isSameAddress(bare(name), localAddress)
  }
}

const KNOWN_MAX = 100

/** Node shows only the first. What stands between may have gone by another. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
}

function isLoopbackName(name: string): boolean {
  return name === 'localhost' || isLoopbackAddress(bare(name))
}

function bare(name: string): string {
  return name.startsWith('[') ? name.slice(1, -1) : name
}

function isSameAddress(name: string, localAddress: string | undefined): boolean {
  if (localAddress === undefined || !ipaddr.isValid(name) || !ipaddr.isValid(localAddress)) return false
  return ipaddr.process(name).toNormalizedString() === ipaddr.process(localAddress).toNormalizedString()
}

function shown(host: string | undefined): string {
  return host === undefined ? 'nothing' : host.slice(0, 100)
}
