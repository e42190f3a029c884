import { lookup } from 'node:dns/promises'
import type { AddressInfo, Server } from 'node:net'
import ipaddr from 'ipaddr.js'
import { PawlError } from '../../domain/errors.ts'

/** Whether only this machine can reach what listens there. A name counts by all the addresses it stands for. */
export async function isLoopbackHost(host: string): Promise<boolean> {
  if (ipaddr.isValid(host)) return isLoopbackAddress(host)
  try {
    const found = await lookup(host, { all: true })
    return found.length > 0 && found.every(({ address }) => isLoopbackAddress(address))
  } catch {
    // Nobody can listen there; the attempt says so better than we could.
    return true
  }
}

/** `::ffff:127.0.0.1` is loopback too. */
export function isLoopbackAddress(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'
}

/** A machine that others can reach must ask who they are. */
export function refuseOpenHost(host: string): PawlError {
  return new PawlError(
    'invalid_option',
    `Refusing to listen on ${host}: others could reach it, and this store has no API key, so everybody could do everything. ` +
      'Make a key first (`pawl keys create --name me --role admin`), or listen on 127.0.0.1.',
    { path: 'host' },
  )
}

/** Listens, and answers with the port: another than asked for where that was 0. */
export async function listen(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) => reject(listenError(error, host, port))
    server.once('error', refuse)
    server.listen({ host, port }, () => {
      server.removeListener('error', refuse)
      resolve()
    })
  })
  return (server.address() as AddressInfo).port
}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): PawlError {
  const [path, sentence] = reasonOf(error, host, port)
  return new PawlError('invalid_option', sentence, { path, cause: error })
}

function reasonOf({ code, message }: NodeJS.ErrnoException, host: string, port: number): [path: string, text: string] {
  switch (code) {
    case 'EADDRINUSE':
      return ['port', `Port ${port} on ${host} is in use already. Stop what listens there, or choose another port.`]
    case 'EACCES':
      return ['port', `This user may not listen on port ${port}. Choose a port from 1024 on.`]
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return ['host', `Expected \`host\` to be an address of this machine, got \`${host}\`.`]
    case undefined:
    default:
      return ['host', `Listening on ${host}:${port} failed: ${message}.`]
  }
}

/** How a browser on this machine reaches it. */
export function urlOf(host: string, port: number): string {
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`
}
