import { fork } from 'node:child_process'
import { once } from 'node:events'

/** Starts a script of children/ and resolves with it and the first thing that it tells. */
export async function startChild(name, ...args) {
  const child = fork(new URL(`./children/${name}.mjs`, import.meta.url), args)
  const [told] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`${name} ended with ${code} before it told anything.`)
    }),
  ])
  return { child, told }
}

/** Asks it something, and resolves with what it tells. */
export async function askChild({ child }) {
  child.send('?')
  const [told] = await once(child, 'message')
  return told
}

/** Lets it end in good order. */
export async function endChild({ child }) {
  child.disconnect()
  await once(child, 'exit')
}
