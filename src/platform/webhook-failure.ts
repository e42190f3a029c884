import { harmless } from './webhook-answer.ts'

const MESSAGE_CHARACTERS_MAX = 300

/** A failure that already says everything in its message. */
export class PostFailure extends Error {}

const PLAIN_WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the other side closed the connection',
  EPIPE: 'the other side closed the connection',
  UND_ERR_SOCKET: 'the other side closed the connection',
  ETIMEDOUT: 'there was no answer',
  EHOSTUNREACH: 'there is no way to the host',
  ENETUNREACH: 'there is no way to the network',
  CERT_HAS_EXPIRED: 'the certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificate is self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'the certificate is from an authority that is not trusted',
  UND_ERR_HEADERS_OVERFLOW: 'the headers are too long',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'the body is too long',
}

/** One sentence without a stack, a path or the URL, of which a part may be a secret. */
export function describeFailure(error: unknown, doing: string): string {
  if (error instanceof PostFailure) return error.message
  const { code, reason, message } = error as { code?: unknown; reason?: unknown; message?: unknown }
  // OpenSSL puts file names of its source into the message, and the plain reason beside it.
  const words = PLAIN_WORDS[String(code)] ?? (typeof reason === 'string' ? reason : String(message))
  const suffix = typeof code === 'string' && !code.startsWith('UND_ERR_') ? ` (${code})` : ''
  return harmless(`Failed while ${doing}: ${words}${suffix}.`, MESSAGE_CHARACTERS_MAX)
}
