// The job types of the demo: a small publishing house with one language model.
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { defineJob } from 'pawl'
import { z } from 'zod'

const STEPS = 20

/** Pretends to work, reports its progress, and ends at once when it is told to. */
async function work({ signal, progress }, ms, what) {
  for (let step = 1; step <= STEPS; step++) {
    await sleep(ms / STEPS, undefined, { signal })
    progress(step / STEPS, `${what} ${step} of ${STEPS}`)
  }
}

/** Writing takes the model, of which there is one. */
export const story = defineJob({
  type: 'story',
  params: z.object({ genre: z.string().min(1), pages: z.number().int().min(1).max(100).default(20) }),
  resources: ['model'],
  timeoutMs: 60_000,
  async run(context) {
    const { genre, pages } = context.params
    context.log.info('Once upon a time', { genre })
    await work(context, pages * 300, 'part')
    return { genre, words: pages * 60 }
  },
})

/** Takes the same model, so it waits for the stories although it is another type. */
export const research = defineJob({
  type: 'research',
  params: z.object({ topic: z.string().min(1) }),
  resources: ['model'],
  async run(context) {
    await work(context, 5_000, 'source')
    return { topic: context.params.topic, sources: STEPS }
  },
})

/** Fails twice before it works. The pause doubles: 3 s, then 6 s. */
export const flaky = defineJob({
  type: 'flaky',
  retry: { maxRetries: 3, backoff: { kind: 'exponential', baseMs: 3_000 } },
  async run({ attempt, signal, log }) {
    await sleep(800, undefined, { signal })
    if (attempt < 3) throw new Error('503 Service Unavailable')
    log.info('It answered at last', { attempt })
    return { items: 42 }
  },
})

/** An external program. The params come as JSON on its standard input, its output goes to a log file. */
export const report = defineJob({
  type: 'report',
  params: z.object({ text: z.string() }),
  command: [process.execPath, fileURLToPath(new URL('./report.mjs', import.meta.url))],
})

/** Quick: good for a direct execution, which answers with the result. */
export const notify = defineJob({
  type: 'notify',
  params: z.object({ text: z.string().min(1) }),
  async run({ params, signal, log }) {
    await sleep(200, undefined, { signal })
    log.info(params.text)
    return { told: params.text }
  },
})
