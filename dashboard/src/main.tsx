import { effect } from '@preact/signals'
import { render } from 'preact'
import { whenUnauthorised } from './api/http.ts'
import { readSession, session } from './api/session.ts'
import { App } from './app.tsx'
import { listenToKeys } from './keyboard.ts'
import { connect, disconnect } from './live/stream.ts'
import { followLinks } from './route.ts'
import './style/index.css'
import './theme.ts'

/** How soon we ask again who we are, when the server did not answer. */
const ASK_AGAIN_MS = 1_000

async function learnWhoWeAre(): Promise<void> {
  try {
    await readSession()
  } catch {
    setTimeout(() => void learnWhoWeAre(), ASK_AGAIN_MS)
  }
}

whenUnauthorised(() => void learnWhoWeAre())
followLinks()
listenToKeys()

let isConnected = false
effect(() => {
  const isWelcome = session.value?.authenticated === true
  if (isWelcome === isConnected) return
  isConnected = isWelcome
  if (isWelcome) connect()
  else disconnect()
})

void learnWhoWeAre()
render(<App />, document.getElementById('app') as HTMLElement)
