import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'

const SECRET_BYTES = 32

/** A new secret in the form of the Standard Webhooks specification. */
export function newWebhookSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`
}

export interface SignatureHeaders {
  readonly 'webhook-id': string
  readonly 'webhook-timestamp': string
  readonly 'webhook-signature': string
}

/**
 * Signs the body once with each secret, the current one first. While a rotation lasts the previous one is there too, so
 * that a receiver who knows either can verify the delivery.
 */
export function signatureHeaders(
  secrets: readonly string[],
  deliveryId: string,
  atMs: number,
  body: string,
): SignatureHeaders {
  if (secrets.length === 0) throw new TypeError('Expected at least one secret to sign a webhook with, got none.')
  const at = new Date(atMs)
  return {
    'webhook-id': deliveryId,
    'webhook-timestamp': String(Math.floor(atMs / 1000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(deliveryId, at, body)).join(' '),
  }
}
