import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

export const options = JSON.parse(process.argv[2])

export function importPeer(name) {
  const require = createRequire(join(options.folder, 'package.json'))
  return import(pathToFileURL(require.resolve(name)).href)
}

export function versionOfPeer(name) {
  return JSON.parse(readFileSync(join(options.folder, 'node_modules', name, 'package.json'), 'utf8')).version
}

/** Answers what the bench asks, one thing after the other. */
export function answer(verbs) {
  process.on('message', ({ what, values }) => {
    Promise.resolve()
      .then(() => verbs[what](...values))
      .then(
        (answer) => process.send({ answer }),
        (error) => process.send({ error: String(error?.stack ?? error) }),
      )
  })
  process.on('disconnect', () => process.exit(0))
}
