// Runs a script under Node 24, where SQLite is built in: `node scripts/with-node24.mjs <script> [arguments]`.
import { spawnSync } from 'node:child_process'
import { findNode24 } from './node24.mjs'

const args = process.argv.slice(2)
if (args.length === 0) {
  console.error('Usage: node scripts/with-node24.mjs <script> [arguments]')
  process.exit(2)
}

const node = findNode24()
if (node === null) {
  console.error(
    `Could not install Node 24: npm's message is above. Check the network and the npm registry, ` +
      `or run the same command with a Node 24 of your own.`,
  )
  process.exit(1)
}

const { status, signal } = spawnSync(node, args, { stdio: 'inherit' })
if (signal) console.error(`The script was ended by ${signal}.`)
process.exitCode = status ?? 1
