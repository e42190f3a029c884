// An external command as far as Pawl can tell: it reads JSON, prints to stdout, and its exit code is its word.
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

const params = JSON.parse(await text(process.stdin))
await sleep(1_200)
console.log(`${params.text.split(/\s+/).length} words (run ${process.env.PAWL_RUN_ID})`)
