import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

export const options = JSON.parse(process.argv[2])

const require = createRequire(join(options.folder, 'package.json'))

export function importPeer(name) {
  return import(pathToFileURL(require.resolve(name)).href)
}

export function versionOfPeer(name) {
  return require(`${name}/package.json`).version
}

/** Answers what the bench asks, one thing after the other. */
export function answer(verbs) {
  process.on('message', ({ what, values }) => {
    Promise.resolve(verbs[what](...values)).then(
      (answer) => process.send({ answer }),
      (error) => process.send({ error: String(error?.stack ?? error) }),
    )
  })
  process.on('disconnect', () => process.exit(0))
}
