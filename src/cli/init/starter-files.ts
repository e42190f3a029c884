/** A file that `pawl init` writes. */
export interface StarterFile {
  readonly path: string
  readonly text: string
}

export interface StarterChoice {
  readonly language: 'ts' | 'js'
  /** Whether zod can be imported there; without it the example has no schema. */
  readonly hasZod: boolean
}

/** A configuration with one job type. */
export function starterFiles(choice: StarterChoice): StarterFile[] {
  return choice.language === 'ts'
    ? [
        { path: 'pawl.config.ts', text: configText('./jobs/hello.js', TS_IMPORT_NOTE) },
        { path: 'jobs/hello.ts', text: jobText(choice) },
      ]
    : [
        { path: 'pawl.config.mjs', text: configText('./jobs/hello.mjs', '') },
        { path: 'jobs/hello.mjs', text: jobText(choice) },
      ]
}

const TS_IMPORT_NOTE = ' // hello.ts: TypeScript names modules as they are called once compiled'

function configText(module: string, note: string): string {
  return `// The configuration of Pawl: \`pawl serve\`, \`pawl worker\` and the other commands read it in this folder.
import { defineConfig } from 'pawl'
import { hello } from '${module}'${note}

export default defineConfig({
  // Where jobs are kept. The file is made when it is first needed; keep it out of version control.
  // For processes on several machines: 'postgres://host/database', after \`npm install pg\`.
  store: 'sqlite:pawl.db',

  // The job types that this project handles. One that is not listed here is not executed here.
  jobs: [hello],

  // How many jobs execute at once in one process.
  concurrency: 4,

  // Things of which there are only so many, whichever processes use them. A type takes one with \`resources: ['gpu']\`.
  // resources: { gpu: 1 },

  // How long running jobs get to end when a process stops; then they are aborted and retried elsewhere.
  // shutdownTimeoutMs: 30_000,

  // Where \`pawl serve\` listens. An address that others can reach needs API keys: \`pawl keys create\`.
  // server: { host: '127.0.0.1', port: 4747 },

  // Webhooks may not call private addresses, but for those listed here.
  // webhooks: { allowPrivate: ['10.0.0.0/8'] },
})
`
}

function jobText({ language, hasZod }: StarterChoice): string {
  return `import { setTimeout as sleep } from 'node:timers/promises'
import { defineJob } from 'pawl'
${hasZod ? "import { z } from 'zod'\n" : ''}
// Try it: pawl enqueue hello -p name=Ada
export const hello = defineJob({
  type: 'hello',

${hasZod ? SCHEMA : NO_SCHEMA}
  // If it throws, it is tried again: here up to three times, after 2, 4 and 8 seconds.
  retry: { maxRetries: 3, backoff: { kind: 'exponential', baseMs: 2_000 } },

  // After this long it is interrupted through \`signal\`.
  timeoutMs: 60_000,

  async run({ params, attempt, signal, log, progress }) {
${nameText({ language, hasZod })}
    log.info('Greeting', { name, attempt })
    for (let step = 1; step <= 5; step++) {
      await sleep(200, undefined, { signal })
      progress(step / 5, \`step \${step} of 5\`)
    }
    // Anything that survives JSON. It is kept in the history.
    return { greeting: \`Hello, \${name}!\` }
  },
})
`
}

const SCHEMA = `  // Wrong params are refused when the job is enqueued. Any Standard Schema library will do.
  params: z.object({ name: z.string().min(1).default('world') }),
`

const NO_SCHEMA = `  // With a schema, wrong params are refused when the job is enqueued: \`npm install zod\`, then
  // params: z.object({ name: z.string().min(1) }),
`

function nameText({ language, hasZod }: StarterChoice): string {
  if (hasZod) return '    const { name } = params'
  const fields = language === 'ts' ? '(params ?? {}) as { name?: string }' : 'params ?? {}'
  return `    const { name = 'world' } = ${fields}`
}
