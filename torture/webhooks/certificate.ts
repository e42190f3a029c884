import { generateKeyPairSync, sign } from 'node:crypto'
import { isIPv4 } from 'node:net'

export interface Certificate {
  readonly key: string
  readonly cert: string
}

export interface CertificateOptions {
  /** Host names and IPv4 addresses it is for. */
  readonly names: readonly string[]
  /** As `YYMMDDhhmmssZ`. */
  readonly notAfter?: string
}

/** A self-signed certificate, made here because neither Node nor a machine without OpenSSL can make one. */
export function makeCertificate({ names, notAfter = '491231235959Z' }: CertificateOptions): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = sequence(der(0x31, sequence(OID_COMMON_NAME, der(0x0c, Buffer.from('Pawl test')))))
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    sequence(OID_ECDSA_SHA256),
    name,
    sequence(der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from(notAfter))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(authority(), alternativeNames(names))),
  )
  const signature = der(0x03, Buffer.from([0]), sign('sha256', toBeSigned, privateKey))
  const base64 = sequence(toBeSigned, sequence(OID_ECDSA_SHA256), signature).toString('base64')
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
  }
}

const OID_ECDSA_SHA256 = Buffer.from('06082a8648ce3d040302', 'hex')
const OID_COMMON_NAME = Buffer.from('0603550403', 'hex')
const OID_BASIC_CONSTRAINTS = Buffer.from('0603551d13', 'hex')
const OID_ALTERNATIVE_NAMES = Buffer.from('0603551d11', 'hex')

function authority(): Buffer {
  return sequence(OID_BASIC_CONSTRAINTS, der(0x04, sequence(der(0x01, Buffer.from([0xff])))))
}

function alternativeNames(names: readonly string[]): Buffer {
  const entries = names.map((name) =>
    isIPv4(name) ? der(0x87, Buffer.from(name.split('.').map(Number))) : der(0x82, Buffer.from(name)),
  )
  return sequence(OID_ALTERNATIVE_NAMES, der(0x04, sequence(...entries)))
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, ...parts)
}

/** One value of the encoding that certificates are written in: its tag, its length, its content. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const length =
    content.length < 0x80 ? [content.length] : [0x82, Math.floor(content.length / 0x100), content.length % 0x100]
  return Buffer.concat([Buffer.from([tag, ...length]), content])
}
