// What happens in the demo, and when.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import * as types from './job-types.mjs'
import { report } from './reporter.mjs'
import { bold, cyan, green, red, seconds } from './terminal.mjs'

const WORKER = fileURLToPath(new URL('./photo-worker.mjs', import.meta.url))
const LOOK_AT_QUEUE_MS = 300

export class Play {
  #scheduler
  #view
  #database
  #worker = null
  #queueTimer = null
  #reporting = null
  #nodeNames = new Map()

  constructor(scheduler, view, database) {
    this.#scheduler = scheduler
    this.#view = view
    this.#database = database
  }

  /** Empty for this process: it needs no name. */
  nameOf(nodeId) {
    return this.#nodeNames.get(nodeId) ?? ''
  }

  async perform() {
    this.#reporting = report(this.#scheduler, this.#view, (nodeId) => this.nameOf(nodeId))
    const handles = await this.#enqueueAll()
    const [photos, , haiku, , , , payment] = handles
    await this.#startWorker(photos)
    this.#say('One model for all stories and research; gothic goes first, it has priority 5')
    await this.#scheduler.start()
    this.#queueTimer = setInterval(() => this.#showQueue(), LOOK_AT_QUEUE_MS)
    await Promise.all([
      this.#killWorkerDuring(photos),
      this.#steer(haiku, payment),
      ...handles.map((job) => job.settled()),
    ])
    await this.#everythingEnded()
    clearInterval(this.#queueTimer)
    await this.#reporting.told()
  }

  stop() {
    clearInterval(this.#queueTimer)
    this.#worker?.kill('SIGKILL')
  }

  async #enqueueAll() {
    const handles = await this.#scheduler.enqueueMany([
      { type: types.photos, params: { album: 'holiday' }, name: 'holiday' },
      { type: types.story, params: { genre: 'horror' }, name: 'horror' },
      { type: types.story, params: { genre: 'haiku' }, name: 'haiku' },
      { type: types.story, params: { genre: 'gothic' }, name: 'gothic', priority: 5 },
      { type: types.research, params: { about: 'owls' }, name: 'owls' },
      { type: types.feed, params: { url: 'news' }, name: 'news' },
      { type: types.payment, params: { account: 'DE-17' }, name: 'DE-17', priority: 1 },
      { type: types.newsletter, params: null },
      { type: types.translate, params: { to: 'eo' }, name: 'to Esperanto' },
      { type: types.countWords, params: { text: 'It was a dark and stormy night' } },
      { type: types.render, params: { title: 'Owls at Night' }, name: 'the book' },
      { type: types.reminder, params: null, delayMs: 14_000 },
    ])
    this.#say(`${handles.length} jobs accepted in one commit: on disk, safe from a power cut`, green('+'))
    return handles
  }

  /** It is first, so that the photos are its. */
  async #startWorker(photos) {
    const begun = this.#happens('job.started', ({ jobId }) => jobId === photos.jobId)
    this.#worker = fork(WORKER, [this.#database])
    const { nodeId } = await new Promise((resolve, reject) => {
      this.#worker.once('message', resolve)
      this.#worker.once('exit', (code) => reject(new Error(`The worker exited with code ${code}.`)))
    })
    this.#nodeNames.set(nodeId, `worker ${this.#worker.pid}`)
    this.#say(`A second process works on the same file: worker ${this.#worker.pid}`)
    await begun
  }

  async #killWorkerDuring(photos) {
    await this.#happens('run.progress', ({ jobId, progress }) => jobId === photos.jobId && progress >= 0.3)
    const killedAt = performance.now()
    const recovered = this.#happens('node.recovered', () => true)
    this.#worker.kill('SIGKILL')
    this.#say(bold(`kill -9 ${this.#worker.pid}: the worker is gone, in the middle of its job`), red('☠'))
    const { stats } = await recovered
    const noticed = `Noticed after ${seconds(performance.now() - killedAt)}`
    this.#say(`${noticed}: ${stats.runningJobsRecovered} job of the dead worker recovered`)
  }

  /** What people do: one changes her mind, one repairs what no retry could. */
  async #steer(haiku, payment) {
    await this.#happens('job.finished', ({ type }) => type === 'story')
    await haiku.cancel({ reason: 'the editor changed her mind' })
    await this.#happens('job.finished', ({ type }) => type === 'cover')
    types.correctAccount('DE-17')
    this.#say('An operator corrected account DE-17 and retries the payment by hand')
    await this.#scheduler.retry(payment.jobId)
  }

  /** Also the follow-ups and the retry by hand, of which nobody holds a handle. */
  async #everythingEnded() {
    for (;;) {
      const ended = Promise.race([this.#happens('job.finished'), this.#happens('job.cancelled')])
      const { items } = await this.#scheduler.listJobs({ limit: 200 })
      if (items.every(({ status }) => status === 'FINISHED' || status === 'CANCELLED')) return
      await ended
    }
  }

  async #showQueue() {
    const queue = await this.#scheduler.listQueue({ limit: 20 })
    const words = queue.map(({ type, name, hold, runAt }) => {
      const label = name === null ? type : `${type} ${name}`
      return hold === 'delayed' ? `${label} (in ${seconds(runAt - Date.now())})` : label
    })
    this.#view.waiting(words.join(', '))
  }

  #say(text, symbol = cyan('●')) {
    this.#reporting.say(symbol, text)
  }

  #happens(kind, condition = () => true) {
    return new Promise((resolve) => {
      const off = this.#scheduler.on(kind, (event) => {
        if (!condition(event)) return
        off()
        resolve(event)
      })
    })
  }
}
