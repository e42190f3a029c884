export type { Problem } from './problems.ts'
export { type HttpServer, serveHttp } from './server/http-server.ts'
export type { HttpOptions } from './server/server-options.ts'
