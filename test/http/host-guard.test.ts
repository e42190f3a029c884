// What a machine without an outer address cannot show over a real connection.
import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { HostGuard } from '../../src/http/server/host-guard.ts'

/** A request that came in at this address. */
function request(host: string, localAddress: string): IncomingMessage {
  return { headers: { host }, rawHeaders: ['Host', host], socket: { localAddress } } as unknown as IncomingMessage
}

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['192.0.2.7:4747', '192.0.2.7'],
  ['192.0.2.7', '::ffff:192.0.2.7'],
  ['[2001:db8::1]:4747', '2001:db8:0:0::1'],
])('who calls by the number %s that came in at %s is let through', (host, localAddress) => {
  expect(new HostGuard([]).check(request(host, localAddress))).toBeNull()
})

test.each([
  ['192.0.2.8', '192.0.2.7'],
  ['evil.example', '192.0.2.7'],
  ['[2001:db8::2]', '2001:db8::1'],
])('who calls by %s what came in at %s is refused, also the second time', (host, localAddress) => {
  const guard = new HostGuard(['pawl.example'])
  expect(guard.check(request(host, localAddress))?.code).toBe('host_refused')
  expect(guard.check(request(host, localAddress))?.code).toBe('host_refused')
})

test('a number that is ours at one address is not ours at another', () => {
  const guard = new HostGuard([])
  expect(guard.check(request('192.0.2.7', '192.0.2.7'))).toBeNull()
  expect(guard.check(request('192.0.2.7', '192.0.2.8'))?.code).toBe('host_refused')
})
