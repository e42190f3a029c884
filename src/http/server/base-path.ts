import type { IncomingMessage } from 'node:http'
import { invalid } from '../../domain/options.ts'

const BASE_PATH = /^(\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$/

/** Under which path a proxy offers the server: `/pawl`, or nothing. A slash at its end makes no difference. */
export function readBasePath(given: unknown, path: string): string {
  if (given === undefined || given === '' || given === '/') return ''
  const base = typeof given === 'string' ? given.replace(/\/$/, '') : ''
  if (BASE_PATH.test(base) && base.length <= 200 && !/^\/(api|metrics|health|ready)(\/|$)/.test(base)) return base
  throw invalid(path, 'a path such as `/pawl`, which is none of the server’s own', given)
}

/** Some proxies leave the base path in what they pass on, others take it away. Both are understood. */
export function leaveBasePath(request: IncomingMessage, basePath: string): void {
  const { url = '' } = request
  if (basePath === '' || !url.startsWith(basePath)) return
  const rest = url.slice(basePath.length)
  if (rest.startsWith('/')) request.url = rest
  else if (rest === '' || rest.startsWith('?')) request.url = `/${rest}`
}
