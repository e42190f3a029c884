import { fork } from 'node:child_process'
import { once } from 'node:events'

/** Starts a script of children/ and resolves with it and the first thing that it tells. */
export async function startChild(name, ...args) {
  const child = fork(new URL(`./children/${name}.mjs`, import.meta.url), args)
  return { child, told: await nextFrom({ child }) }
}

/** Asks it something, and resolves with what it tells. */
export function askChild(started) {
  const answered = nextFrom(started)
  started.child.send('?')
  return answered
}

/** The next thing that it tells. */
export async function nextFrom({ child }) {
  // Whichever did not come is not listened for any more: there may be thousands of questions.
  const answered = new AbortController()
  const { signal } = answered
  try {
    const [told] = await Promise.race([
      once(child, 'message', { signal }),
      once(child, 'exit', { signal }).then(([code]) => {
        throw new Error(`A process of the bench ended with ${code} before it told what was asked of it.`)
      }),
    ])
    return told
  } finally {
    answered.abort()
  }
}

/** Lets it end in good order. */
export async function endChild({ child }) {
  child.disconnect()
  await once(child, 'exit')
}
