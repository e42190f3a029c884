// The handler of `render`, executed in a child process. It burns real CPU; the scheduler's process does not notice.

const PAGES = 20

export async function run({ params, progress, log, signal }) {
  for (let page = 1; page <= PAGES && !signal.aborted; page++) {
    const until = performance.now() + 300
    while (performance.now() < until) Math.sqrt(Math.random())
    progress(page / PAGES, `page ${page} of ${PAGES}`)
    // Lets messages from the scheduler in.
    await new Promise((resolve) => setImmediate(resolve))
  }
  log.info(`Rendered ${params.title}`, { pid: process.pid })
  return { pages: PAGES }
}
