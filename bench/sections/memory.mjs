import { fork } from 'node:child_process'
import { once } from 'node:events'
import { line, median, megabytes, perSecond, withinMemory } from '../figures.mjs'
import { inFolder } from '../stage.mjs'

/** How much the memory of a process may have grown between the second fifth of its Jobs and the last. */
const GROWTH_MAX = 1.15

/** The memory of a process of its own that enqueues and executes many Jobs. */
export function memory({ folder, scale }) {
  return inFolder(folder, (own) => memoryOver({ folder: own }, scale.memory))
}

export async function memoryOver(place, { jobs, samples }) {
  const child = fork(
    new URL('../children/million.mjs', import.meta.url),
    [JSON.stringify(place), String(jobs), String(Math.ceil(jobs / samples))],
    { execArgv: ['--expose-gc'] },
  )
  const rss = []
  let seconds = 0
  child.on('message', (message) => {
    if (message.kind === 'sample') rss.push(message.rss)
    else seconds = message.seconds
  })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`The process whose memory is measured ended with exit code ${code}.`)
  const fifth = Math.ceil(rss.length / 5)
  const early = median(rss.slice(fifth, fifth * 2))
  const late = median(rss.slice(-fifth))
  const most = Math.max(...rss)
  const name = `memory over ${jobs.toLocaleString('en')} jobs`
  return [
    line({
      name,
      ours: `${megabytes(late)} at the end (${perSecond(jobs / seconds)})`,
      reference: `${megabytes(early)} at the beginning`,
      ratio: late / early,
      needs: { kind: 'at-most', value: GROWTH_MAX },
    }),
    withinMemory(`${name}, most`, most),
  ]
}
