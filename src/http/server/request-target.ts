import type { IncomingMessage } from 'node:http'

const SLASH = 0x2f
const ABSOLUTE = /^https?:\/\/([^/?#]*)([^#]*)/i

/**
 * A target may be a whole URL, as it is sent to a proxy. Then the name in it is what was asked for, whatever `Host` says
 * (RFC 9112, 3.2.2). From here on it looks like any other request.
 */
export function readTarget(request: IncomingMessage): void {
  const { url = '' } = request
  if (url.charCodeAt(0) === SLASH) return
  const match = ABSOLUTE.exec(url)
  if (match === null) return
  const [, authority = '', path = ''] = match
  request.headers.host = authority
  request.url = path.startsWith('/') ? path : `/${path}`
}
