import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { newWebhookSecret, signatureHeaders } from '../../src/platform/webhook-signature.ts'

const BODY = '{"event":"job.settled","name":"Käse 🧀"}'

test('a secret is 32 random bytes in the form of Standard Webhooks', () => {
  const secrets = Array.from({ length: 100 }, () => newWebhookSecret())
  for (const secret of secrets) {
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(Buffer.from(secret.slice('whsec_'.length), 'base64')).toHaveLength(32)
  }
  expect(new Set(secrets).size).toBe(100)
})

test('a receiver who knows the secret can verify the delivery with the package of Standard Webhooks', () => {
  const secret = newWebhookSecret()
  const headers = signatureHeaders([secret], 'd-1', Date.now(), BODY)
  expect(headers['webhook-id']).toBe('d-1')
  expect(new Webhook(secret).verify(BODY, { ...headers })).toEqual({ event: 'job.settled', name: 'Käse 🧀' })
})

test('while a rotation lasts, the current and the previous secret both verify, and no other does', () => {
  const [current, previous, stranger] = [newWebhookSecret(), newWebhookSecret(), newWebhookSecret()]
  const headers = { ...signatureHeaders([current, previous], 'd-1', Date.now(), BODY) }
  expect(headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/)
  expect(new Webhook(current).verify(BODY, headers)).toBeDefined()
  expect(new Webhook(previous).verify(BODY, headers)).toBeDefined()
  expect(() => new Webhook(stranger).verify(BODY, headers)).toThrow('No matching signature')
})

test('the current secret signs first, for receivers that look at the first signature only', () => {
  const [current, previous] = [newWebhookSecret(), newWebhookSecret()]
  const both = signatureHeaders([current, previous], 'd-1', 1_000, BODY)['webhook-signature']
  expect(both.split(' ')[0]).toBe(signatureHeaders([current], 'd-1', 1_000, BODY)['webhook-signature'])
})

test.each([
  ['body', { body: `${BODY} ` }],
  ['id', { id: 'd-2' }],
  ['time', { time: '1' }],
])('a changed %s no longer verifies', (_what, change: { body?: string; id?: string; time?: string }) => {
  const secret = newWebhookSecret()
  const headers = { ...signatureHeaders([secret], 'd-1', Date.now(), BODY) }
  if (change.id !== undefined) headers['webhook-id'] = change.id
  if (change.time !== undefined) headers['webhook-timestamp'] = String(Number(headers['webhook-timestamp']) + 1)
  expect(() => new Webhook(secret).verify(change.body ?? BODY, headers)).toThrow('No matching signature')
})

test('the time is in whole seconds, and the example of the specification gives its signature', () => {
  const body = '{"test": 2432232314}'
  const at = 1_614_265_330_999
  expect(
    signatureHeaders(['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'], 'msg_p5jXN8AQM9LWM0D4loKWxJek', at, body),
  ).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})

test('without a secret nothing is signed', () => {
  expect(() => signatureHeaders([], 'd-1', 0, BODY)).toThrow(TypeError)
})
