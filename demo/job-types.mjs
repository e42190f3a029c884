// The job types of the demo: a small publishing house with one language model.
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { defineJob, NonRetryableError } from 'pawl'

const STEPS = 20

/** Pretends to work, reports its progress, and ends at once when it is told to. */
async function work({ signal, progress }, ms, what) {
  for (let step = 1; step <= STEPS; step++) {
    await sleep(ms / STEPS, undefined, { signal })
    progress(step / STEPS, `${what} ${step} of ${STEPS}`)
  }
}

/** Writing takes the model, of which there is one. When a story is COMPLETED, its cover is queued in the same commit. */
export const story = defineJob({
  type: 'story',
  resources: ['model'],
  async run(context) {
    await work(context, 5_000, 'page')
    context.log.info('The end.', { genre: context.params.genre })
    await context.enqueue('cover', { genre: context.params.genre }, { name: `for ${context.params.genre}` })
    return { words: 1_200 }
  },
})

/** Takes the same model, so it waits for the stories although it is another type. */
export const research = defineJob({
  type: 'research',
  resources: ['model'],
  run: (context) => work(context, 4_000, 'source'),
})

export const cover = defineJob({
  type: 'cover',
  run: (context) => work(context, 1_500, 'layer'),
})

/** Fails twice before it works. The pause doubles: 1.5 s, then 3 s. */
export const feed = defineJob({
  type: 'feed',
  retry: { maxRetries: 3, backoff: { kind: 'exponential', baseMs: 1_500 } },
  async run({ attempt, signal }) {
    await sleep(600, undefined, { signal })
    if (attempt < 3) throw new Error('503 Service Unavailable')
    return { items: 42 }
  },
})

/** Hangs on its first attempt; the timeout interrupts it. */
export const translate = defineJob({
  type: 'translate',
  timeoutMs: 3_000,
  retry: { maxRetries: 1, backoff: { kind: 'fixed', delayMs: 1_000 } },
  async run(context) {
    await work(context, context.attempt === 1 ? 60_000 : 2_000, 'line')
  },
})

const corrected = new Set()

/** What a person does about a payment that cannot succeed by itself. */
export function correctAccount(account) {
  corrected.add(account)
}

/** Knows that trying again cannot help, so it is not retried until a person says so. */
export const payment = defineJob({
  type: 'payment',
  async run({ params, signal }) {
    await sleep(800, undefined, { signal })
    if (!corrected.has(params.account)) throw new NonRetryableError(`There is no account ${params.account}`)
    return { paid: true }
  },
})

export const newsletter = defineJob({
  type: 'newsletter',
  run: ({ skip }) => skip('nobody has subscribed yet'),
})

export const reminder = defineJob({
  type: 'reminder',
  run: ({ log }) => log.info('It is time.'),
})

/** In a child process of its own: a crash in there cannot hurt the scheduler. */
export const render = defineJob({
  type: 'render',
  module: new URL('./render-book.mjs', import.meta.url),
  isolation: 'process',
})

/** An external program. The params come as JSON on its standard input, its output goes to a log file. */
export const countWords = defineJob({
  type: 'count-words',
  command: [process.execPath, fileURLToPath(new URL('./count-words.mjs', import.meta.url))],
})

/** Handled by two processes, one of which will be killed in the middle of it. */
export const photos = defineJob({
  type: 'photos',
  run: (context) => work(context, context.attempt === 1 ? 9_000 : 5_000, 'photo'),
})

export const jobs = [story, research, cover, feed, translate, payment, newsletter, reminder, render, countWords, photos]
