// The configuration of the demo. It works by itself too: npx pawl serve --config demo/pawl.config.mjs
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'pawl'
import { flaky, notify, report, research, story } from './job-types.mjs'

mkdirSync(fileURLToPath(new URL('../.pawl-demo', import.meta.url)), { recursive: true })

export default defineConfig({
  store: 'sqlite:../.pawl-demo/pawl.db',
  jobs: [story, research, flaky, report, notify],
  concurrency: 4,
  resources: { model: 1 },
  shutdownTimeoutMs: 10_000,
  // The receiver of the demo's webhook is on this machine.
  webhooks: { allowPrivate: ['127.0.0.1'] },
})
