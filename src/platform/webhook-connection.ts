import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { connect as connectTls, type SecureContext } from 'node:tls'
import type { AddressGuard } from './webhook-address.ts'

/** How long one of several addresses may take before the next is tried. */
const ADDRESS_TURN_MS = 1_000
const CLOSED = 'the other side closed the connection'

export interface ConnectionRequest {
  readonly url: URL
  /** The addresses of the URL's host, already resolved and checked. Nothing is looked up again from here on. */
  readonly addresses: readonly string[]
  readonly guard: AddressGuard
  readonly secureContext: SecureContext
  /** Called when the connection stands and the TLS handshake begins. */
  readonly onSecuring: () => void
  /** Ends the attempt, and later the connection. */
  readonly signal: AbortSignal
}

/** Opens a connection to one of the addresses. Not a byte is sent before the address that answered is checked again. */
export async function openConnection(request: ConnectionRequest): Promise<Socket> {
  const socket = await openTcp(request)
  const { remoteAddress } = socket
  if (remoteAddress === undefined || !request.guard.allows(remoteAddress)) {
    socket.destroy()
    const isGone = remoteAddress === undefined
    throw new Error(isGone ? CLOSED : `the connection led to ${remoteAddress}, which is not allowed`)
  }
  if (request.url.protocol === 'http:') return socket
  request.onSecuring()
  return await secure(socket, request)
}

function openTcp({ url, addresses, signal }: ConnectionRequest): Promise<Socket> {
  const known = addresses.map((address) => ({ address, family: isIP(address) }))
  const socket = connectTcp({
    host: bareHost(url),
    port: Number(url.port || (url.protocol === 'https:' ? 443 : 80)),
    // An address as host is taken as it is; a name is answered here, so that a second lookup cannot say otherwise.
    lookup: (_hostname, _options, answer) => answer(null, known),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: ADDRESS_TURN_MS,
    noDelay: true,
  })
  return opened(socket, 'connect', signal)
}

function secure(socket: Socket, { url, secureContext, signal }: ConnectionRequest): Promise<Socket> {
  const host = bareHost(url)
  const tls = connectTls({
    socket,
    secureContext,
    // The certificate must be for the host of the URL, whatever address it has. An address is no server name in TLS.
    host,
    ...(isIP(host) === 0 ? { servername: host.replace(/\.$/, '') } : {}),
    ALPNProtocols: ['http/1.1'],
    // Also when the environment says otherwise for the whole process.
    rejectUnauthorized: true,
  })
  return opened(tls, 'secureConnect', signal)
}

function bareHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

function opened(socket: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal): Promise<Socket> {
  const end = (): void => void socket.destroy(signal.reason as Error)
  signal.addEventListener('abort', end)
  socket.once('close', () => signal.removeEventListener('abort', end))
  if (signal.aborted) end()
  return new Promise((resolve, reject) => {
    socket.once(event, () => resolve(socket))
    // It stays for the life of the socket: an error that comes when nobody listens would end the process.
    socket.on('error', reject)
    socket.once('close', () => reject(new Error(CLOSED)))
  })
}
