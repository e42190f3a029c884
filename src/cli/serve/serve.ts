import { serveHttp } from '../../http/index.ts'
import { tryAddress } from '../../http/server/try-address.ts'
import type { ServerConfig } from '../../library/config.ts'
import { DOOR } from '../../library/door.ts'
import type { Cli } from '../cli.ts'
import { safeJson } from '../output/escape.ts'
import { given } from '../read-options.ts'
import { endInGoodOrder, untilInterrupted } from './end-in-good-order.ts'
import { type OpenedProcess, openProcess, typesInWords } from './open-process.ts'
import { processLog } from './process-log.ts'
import { type ProcessFlags, type ProcessOptions, readProcessOptions, readWithin } from './process-options.ts'
import { startNode } from './start-node.ts'

export interface ServeFlags extends ProcessFlags {
  readonly host?: string
  readonly port?: string
  readonly paused?: boolean
  readonly allowHost?: readonly string[]
  readonly basePath?: string
  /** False with `--no-dashboard`. */
  readonly dashboard?: boolean
}

/** Serves the API and executes Jobs, until a signal comes. */
export async function serve(cli: Cli, flags: ServeFlags): Promise<void> {
  const port = readWithin(flags.port, '--port', 0, 65_535)
  const config = (await cli.loadConfig())?.config ?? null
  cli.io.endsInGoodOrder = true
  const options = readProcessOptions(flags, config)
  const http = httpOptions(cli, flags, port, config?.server ?? {}, options)
  // Before the store is opened: who only mistook the port is not left with a database that nobody wanted.
  await tryAddress(http)
  const opened = await openProcess(cli, options, '`pawl serve` works on a store.')
  const { scheduler } = opened
  let server: Awaited<ReturnType<typeof serveHttp>> | null = null
  try {
    server = await serveHttp(scheduler, http)
    // Paused, it is a node all the same: whoever asks why a job does not run hears that it is stopped.
    if (flags.paused === true) await scheduler[DOOR].node.join()
    else if (!cli.interrupted.aborted) await startNode(cli, scheduler)
    announce(cli, opened, server.url, scheduler.isStarted)
    await untilInterrupted(cli)
  } finally {
    await endInGoodOrder(cli, { scheduler, server, shutdownTimeoutMs: options.shutdownTimeoutMs })
  }
}

function httpOptions(
  cli: Cli,
  flags: ServeFlags,
  port: number | undefined,
  config: ServerConfig,
  { shutdownTimeoutMs }: ProcessOptions,
): NonNullable<Parameters<typeof serveHttp>[1]> {
  return {
    ...given({
      host: flags.host ?? config.host,
      port: port ?? config.port,
      rateLimit: config.rateLimit,
      redact: config.redact,
      behindHttps: config.behindHttps,
      basePath: flags.basePath ?? config.basePath,
    }),
    dashboard: flags.dashboard !== false && config.dashboard !== false,
    allowedHosts: [...(config.allowedHosts ?? []), ...(flags.allowHost ?? [])],
    allowedOrigins: config.allowedOrigins ?? [],
    shutdownTimeoutMs,
    logger: processLog(cli),
  }
}

/** The one line on stdout: who starts the process may wait for it, and find the address in it. */
function announce(cli: Cli, { store, types }: OpenedProcess, url: string, isStarted: boolean): void {
  if (cli.isJson) {
    cli.print(safeJson({ url, store, job_types: types, scheduler_running: isStarted }))
    return
  }
  const paused = isStarted ? '' : ', paused: `POST /api/scheduler/start` starts it'
  cli.print(`Pawl is ready at ${url} (${store}, ${typesInWords(types)}${paused})`)
}
