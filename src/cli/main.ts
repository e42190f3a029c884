#!/usr/bin/env node
import { processIo } from './io.ts'
import { runCli } from './run-cli.ts'

/** What a configuration left behind, such as an open connection, keeps a finished command alive for no longer. */
const LINGER_MS = 1_000

process.exitCode = await runCli(process.argv.slice(2), processIo())
// Not `process.exit` at once: output to a pipe would be cut off, and the database library tidies up only when the process
// ends by itself. This timer keeps nobody alive.
AbortSignal.timeout(LINGER_MS).addEventListener('abort', () => process.exit())
