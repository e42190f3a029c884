import { lookup as askSystem } from 'node:dns/promises'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Range = readonly [address: Address, prefixLength: number]

/** Everything the internet assigns to hosts. What lies outside is for one machine, one network, or for nobody. */
const GLOBAL_UNICAST: Range = [ipaddr.parse('2000::'), 3]

/** An IPv6-only network reaches IPv4 hosts through these: the last four bytes are the address that is meant. */
const TRANSLATED: Range = [ipaddr.parse('64:ff9b::'), 96]

/** Ranges tell most metadata services apart; this one of Azure looks like any public address. */
const METADATA_ADDRESSES: readonly string[] = ['168.63.129.16']

/**
 * Decides which addresses a webhook may lead to: public ones, and those of the configuration. A receiver is chosen by
 * whoever may save a URL, and must not become a way into the network that Pawl runs in.
 */
export class AddressGuard {
  readonly #listed: readonly Range[]

  /** Takes single addresses and ranges, such as `127.0.0.1`, `10.0.0.0/8` and `::1`. */
  constructor(allowPrivate: readonly string[]) {
    this.#listed = allowPrivate.map(parseRange)
  }

  /** Whether a connection to this IP address is allowed. Anything but an IP address in its usual spelling is not. */
  allows(ip: string): boolean {
    if (isIP(ip) === 0) return false
    const address = unmapped(parseAddress(ip))
    return this.#listed.some((range) => isIn(address, range)) || isPublic(address)
  }
}

function isPublic(address: Address): boolean {
  if (address instanceof ipaddr.IPv4) {
    return address.range() === 'unicast' && !METADATA_ADDRESSES.includes(address.toString())
  }
  if (isIn(address, TRANSLATED)) return isPublic(ipaddr.fromByteArray(address.toByteArray().slice(12)))
  // 6to4 and Teredo addresses carry an IPv4 address too. No receiver lives there, so they are refused as a whole.
  return isIn(address, GLOBAL_UNICAST) && address.range() === 'unicast'
}

/** The IP address in this text, which is known to be one. */
function parseAddress(ip: string): Address {
  if (isIP(ip) === 4) return ipaddr.IPv4.parse(ip)
  // ipaddr.js takes `::10.0.0.1` for `::ffff:10.0.0.1`, which is another address. A URL writes no dots, so it cannot.
  const [withoutZone = ''] = ip.split('%')
  return ipaddr.IPv6.parse(new URL(`http://[${withoutZone}]`).hostname.slice(1, -1))
}

/** `::ffff:127.0.0.1` is another spelling of 127.0.0.1, so it is judged as that. */
function unmapped(address: Address): Address {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address
}

function isIn(address: Address, [start, prefixLength]: Range): boolean {
  return address.kind() === start.kind() && address.match(start, prefixLength)
}

function parseRange(entry: unknown): Range {
  const [ip = '', length, ...rest] = typeof entry === 'string' ? entry.split('/') : []
  const bits = isIP(ip) === 4 ? 32 : 128
  const prefixLength = length === undefined ? bits : Number(length)
  if (isIP(ip) === 0 || rest.length > 0 || !/^\d{1,3}$/.test(length ?? '0') || prefixLength > bits) {
    throw new TypeError(
      `Expected \`allowPrivate\` to list IP addresses and ranges such as \`10.0.0.0/8\`, got \`${String(entry)}\`.`,
    )
  }
  const address = parseAddress(ip)
  const isMapped = unmapped(address) !== address && prefixLength >= 96
  return isMapped ? [unmapped(address), prefixLength - 96] : [address, prefixLength]
}

/** Asks for all addresses of a host name. Rejects when there are none. */
export type Lookup = (hostname: string) => Promise<readonly string[]>

/** The system's resolver, which also knows the hosts file and the search domains of a cluster. */
export const systemLookup: Lookup = async (hostname) => {
  const found = await askSystem(hostname, { all: true })
  return found.map(({ address }) => address)
}

/** The system's resolver cannot be interrupted, and someone waits for the answer to their save. */
const LOOKUP_AT_SAVE_MAX_MS = 5_000
const URL_LENGTH_MAX = 2_048

export type UrlCheck =
  /** With a `note` when the host name does not resolve now. It may later, and is checked again at each connection. */
  { readonly kind: 'ok'; readonly note?: string } | { readonly kind: 'refused'; readonly message: string }

/** Whether a URL may be saved as a webhook's. The address is checked again, and for good, when we connect. */
export async function checkWebhookUrl(
  url: unknown,
  guard: AddressGuard,
  lookup: Lookup = systemLookup,
): Promise<UrlCheck> {
  const parsed = parseWebhookUrl(url)
  if (parsed.kind === 'refused') return parsed
  const resolution = await resolveHost(parsed.url, guard, impatient(lookup))
  switch (resolution.kind) {
    case 'resolved':
      return { kind: 'ok' }
    case 'unresolved':
      return { kind: 'ok', note: resolution.message }
    case 'refused':
      return resolution
  }
}

function impatient(lookup: Lookup): Lookup {
  return async (hostname) => {
    let timer: NodeJS.Timeout | undefined
    const silence = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error('The lookup takes too long.')), LOOKUP_AT_SAVE_MAX_MS)
    })
    return await Promise.race([lookup(hostname), silence]).finally(() => clearTimeout(timer))
  }
}

export type ParsedUrl =
  | { readonly kind: 'url'; readonly url: URL }
  | { readonly kind: 'refused'; readonly message: string }

/** Never repeats the URL in its message: a part of it may be a secret. */
export function parseWebhookUrl(url: unknown): ParsedUrl {
  if (typeof url !== 'string') return refused(`Expected a webhook's URL to be a text, got ${typeof url}.`)
  if (url.length > URL_LENGTH_MAX) {
    return refused(`Expected a webhook's URL to have at most ${URL_LENGTH_MAX} characters, got ${url.length}.`)
  }
  // The URL parser drops line breaks silently: what is stored and shown would not be what is called.
  if (/[\p{Cc}\s]/u.test(url)) return refused("Expected a webhook's URL to have no spaces or control characters.")
  if (!URL.canParse(url)) return refused("Expected a webhook's URL to be like `https://example.com/hook`.")
  const parsed = new URL(url)
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') {
    return refused(`Expected a webhook's URL to begin with \`https://\` or \`http://\`, got \`${parsed.protocol}\`.`)
  }
  if (parsed.username !== '' || parsed.password !== '') {
    return refused("Expected a webhook's URL to have no user name or password. Verify the signature instead.")
  }
  return { kind: 'url', url: parsed }
}

function refused(message: string): { readonly kind: 'refused'; readonly message: string } {
  return { kind: 'refused', message }
}

/** Names that mean the machine itself, whatever a resolver says (RFC 6761). */
const LOOPBACK_NAME = /^(?:.+\.)?localhost\.*$/i

/**
 * Whether a URL's host certainly leads to an address that the guard does not allow. Nobody is asked: a name that has to be
 * looked up may pass here, and is checked when it is called.
 */
export function isKnownPrivate({ hostname }: URL, guard: AddressGuard): boolean {
  const literal = hostname.replace(/^\[|\]$/g, '')
  if (isIP(literal) !== 0) return !guard.allows(literal)
  return LOOPBACK_NAME.test(hostname) && !guard.allows('127.0.0.1') && !guard.allows('::1')
}

export type Resolution =
  | { readonly kind: 'resolved'; readonly addresses: readonly string[] }
  | { readonly kind: 'unresolved'; readonly message: string }
  | { readonly kind: 'refused'; readonly message: string }

/** Finds the addresses of a URL's host, all of which the guard allows. One bad address spoils the host. */
export async function resolveHost({ hostname }: URL, guard: AddressGuard, lookup: Lookup): Promise<Resolution> {
  const literal = hostname.replace(/^\[|\]$/g, '')
  const isLiteral = isIP(literal) !== 0
  const addresses = isLiteral ? [literal] : await lookup(hostname).catch(() => [])
  if (addresses.length === 0) {
    return { kind: 'unresolved', message: `The host name \`${hostname}\` does not resolve now.` }
  }
  const bad = addresses.find((address) => !guard.allows(address))
  if (bad === undefined) return { kind: 'resolved', addresses }
  const what = isLiteral ? `\`${bad}\`` : `\`${hostname}\` leads to \`${bad}\`, which`
  return refused(`${what} is not a public address. If it is meant, list it under \`webhooks.allowPrivate\`.`)
}
