import { describe, expect, test } from 'vitest'
import { AddressGuard, checkWebhookUrl } from '../../src/platform/webhook-address.ts'
import { lookupAnswering } from './support/receiver.ts'

const strict = new AddressGuard([])
const PUBLIC = '93.184.215.14'

describe('the address guard', () => {
  test.each([PUBLIC, '1.1.1.1', '2606:4700:4700::1111', '2a00:1450:4001:82a::200e'])('allows the public %s', (ip) => {
    expect(strict.allows(ip)).toBe(true)
  })

  test.each([
    ['loopback', ['127.0.0.1', '127.255.255.254', '::1', '0:0:0:0:0:0:0:1']],
    ['unspecified', ['0.0.0.0', '0.1.2.3', '::']],
    ['private', ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1']],
    ['link-local', ['169.254.1.1', 'fe80::1', 'fe80::1%eth0', 'febf::1']],
    ['unique-local and site-local', ['fc00::1', 'fd12:3456::1', 'fec0::1']],
    ['metadata', ['169.254.169.254', 'fd00:ec2::254', '100.100.100.200', '168.63.129.16', '192.0.0.192']],
    ['carrier-grade NAT', ['100.64.0.1', '100.127.255.255']],
    ['multicast and broadcast', ['224.0.0.1', '239.255.255.255', '255.255.255.255', 'ff02::1']],
    ['reserved', ['240.0.0.1', '192.0.2.1', '198.18.0.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1']],
    ['outside of global unicast', ['100::1', '4000::1', '5f00::1', 'e000::1']],
    ['mapped', ['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:a9fe:a9fe', '::ffff:168.63.129.16']],
    ['compatible', ['::127.0.0.1', '::10.0.0.1', `::${PUBLIC}`]],
    ['translated', ['64:ff9b::127.0.0.1', '64:ff9b::a00:1', '64:ff9b:1::10.0.0.1', '::ffff:0:127.0.0.1']],
    ['6to4', ['2002:7f00:1::', '2002:a00:1::1', '2002:c0a8:101::1']],
    ['teredo', ['2001:0:4136:e378:8000:63bf:80ff:fffe', '2001::1']],
  ])('refuses %s addresses', (_kind, addresses) => {
    for (const ip of addresses) expect(strict.allows(ip), ip).toBe(false)
  })

  test('judges an IPv4 address in an IPv6 one by what it leads to', () => {
    expect(strict.allows(`::ffff:${PUBLIC}`)).toBe(true)
    expect(strict.allows(`64:ff9b::${PUBLIC}`)).toBe(true)
  })

  test.each([
    '',
    'localhost',
    'example.com',
    '2130706433',
    '0x7f.1',
    '127.1',
    '010.0.0.1',
    '[::1]',
    '1.1.1.1 ',
    '1.1.1.1:80',
  ])('refuses %j, which is no IP address in its usual spelling', (text) => {
    expect(strict.allows(text)).toBe(false)
    expect(new AddressGuard(['0.0.0.0/0', '::/0']).allows(text)).toBe(false)
  })

  test('allows the addresses and ranges that are listed, and nothing beside them', () => {
    const guard = new AddressGuard(['127.0.0.1', '10.0.0.0/8', '::1', 'fd12::/16', '::ffff:192.168.0.0/112'])
    for (const ip of ['127.0.0.1', '::ffff:127.0.0.1', '10.9.8.7', '::1', 'fd12:3::4', '192.168.7.7', PUBLIC]) {
      expect(guard.allows(ip), ip).toBe(true)
    }
    for (const ip of [
      '127.0.0.2',
      '::ffff:127.0.0.2',
      '::127.0.0.1',
      '::2',
      'fd13::1',
      '169.254.169.254',
      '172.16.0.1',
    ]) {
      expect(guard.allows(ip), ip).toBe(false)
    }
  })

  test('does not take a listed IPv4 range for the one behind a translator', () => {
    expect(new AddressGuard(['10.0.0.0/8']).allows('64:ff9b::10.0.0.1')).toBe(false)
    expect(new AddressGuard(['64:ff9b::10.0.0.0/104']).allows('64:ff9b::10.0.0.1')).toBe(true)
  })

  test.each([
    'localhost',
    '',
    '10.0.0.0/33',
    '::1/129',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0.0/-1',
    '10.0.0.0/255.0.0.0',
    '10/8',
    '0x7f.1',
    ' 10.0.0.1',
  ])('names the entry %j that is no address or range', (entry) => {
    const build = () => new AddressGuard(['127.0.0.1', entry])
    expect(build).toThrow(TypeError)
    expect(build).toThrow(`got \`${entry}\``)
  })
})

describe('a URL to be saved', () => {
  const resolving = lookupAnswering([PUBLIC, '2606:4700:4700::1111']).lookup

  test.each([
    'https://example.com',
    'http://example.com:8080/a/b?c=d#e',
    'https://bücher.example/',
    `http://${PUBLIC}/`,
  ])('%s is accepted', async (url) => {
    expect(await checkWebhookUrl(url, strict, resolving)).toEqual({ kind: 'ok' })
  })

  test.each([
    ['is no text', 42, /text/],
    ['is missing', undefined, /text/],
    ['is empty', '', /like/],
    ['is relative', '/hook', /like/],
    ['has no host', 'https://', /like/],
    ['is a file', 'file:///etc/passwd', /`file:`/],
    ['is a script', 'javascript:alert(1)', /`javascript:`/],
    ['is FTP', 'ftp://example.com/', /`ftp:`/],
    ['has credentials', 'https://user:s3cret@example.com/', /user name or password/],
    ['has a user name', 'https://s3cret@example.com/', /user name or password/],
    ['is too long', `https://example.com/${'s3cret'.repeat(400)}`, /at most 2048/],
    ['has a line break', 'https://example.com/\r\nHost: s3cret', /control characters/],
    ['has a tab in its host', 'https://exa\tmple.com/s3cret', /control characters/],
    ['has spaces around it', ' https://example.com/s3cret ', /spaces/],
    ['has a port that is none', 'https://example.com:99999/s3cret', /like/],
  ])('is refused when it %s, without repeating it', async (_what, url, message) => {
    const check = await checkWebhookUrl(url, strict, resolving)
    expect(check).toEqual({ kind: 'refused', message: expect.stringMatching(message) })
    expect(JSON.stringify(check)).not.toContain('s3cret')
  })

  test.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://0177.0.0.1/',
    'http://017700000001/',
    'http://127.1/',
    'http://127.0.0.1./',
    'http://①②⑦.0.0.1/',
    'http://127。0。0。1/',
    'http://%31%32%37.0.0.1/',
    'http://0/',
    'http://[::1]/',
    'http://[::]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[fd00:ec2::254]/',
  ])('%s is refused, however it spells the address', async (url) => {
    const { lookup, asked } = lookupAnswering([PUBLIC])
    expect(await checkWebhookUrl(url, strict, lookup)).toMatchObject({ kind: 'refused' })
    expect(asked).toEqual([])
  })

  test('is refused when any of its addresses is, and the message says which', async () => {
    const { lookup } = lookupAnswering([PUBLIC, '10.0.0.7'])
    expect(await checkWebhookUrl('https://example.com/', strict, lookup)).toEqual({
      kind: 'refused',
      message:
        '`example.com` leads to `10.0.0.7`, which is not a public address. If it is meant, list it under `webhooks.allowPrivate`.',
    })
    expect(await checkWebhookUrl('https://example.com/', new AddressGuard(['10.0.0.7']), lookup)).toEqual({
      kind: 'ok',
    })
  })

  test('is refused when the system resolves it to this machine', async () => {
    for (const host of ['localhost', 'LOCALHOST', 'localhost:8080']) {
      expect(await checkWebhookUrl(`http://${host}/`, strict), host).toMatchObject({ kind: 'refused' })
    }
  })

  test('is accepted with a note when its name does not resolve now', async () => {
    const { lookup } = lookupAnswering([])
    expect(await checkWebhookUrl('https://not-yet.example/', strict, lookup)).toEqual({
      kind: 'ok',
      note: 'The host name `not-yet.example` does not resolve now.',
    })
  })
})
