#!/usr/bin/env node
import { Console } from 'node:console'
import { processIo } from './io.ts'
import { listenToCrashes } from './listen-to-crashes.ts'
import { hasFlag } from './report-error.ts'
import { runCli } from './run-cli.ts'

/** What a configuration left behind, such as an open connection, keeps a finished command alive for no longer. */
const LINGER_MS = 1_000

const argv = process.argv.slice(2)
const isJson = hasFlag(argv, '--json')
// One document on stdout and nothing else, whatever a configuration or a handler prints.
if (isJson) globalThis.console = new Console(process.stderr, process.stderr)

const io = processIo()
const { settled } = listenToCrashes(io, { isJson, isVerbose: hasFlag(argv, '--verbose'), lingerMs: LINGER_MS })
const exitCode = await runCli(argv, io)
settled()
// It is set already where the output could not be written, or something crashed.
process.exitCode ||= exitCode
// Not `process.exit` at once: output to a pipe would be cut off, and the database library tidies up only when the process
// ends by itself. This timer keeps nobody alive.
AbortSignal.timeout(LINGER_MS).addEventListener('abort', () => process.exit())
