// What to try while the demo runs. Every line that begins with four spaces and no # is a command, and works as printed.

export function tryNext({ url, needsKey }, { research, dependent, newsletter }) {
  const curl = needsKey ? 'curl -fsS -H "Authorization: Bearer $PAWL_API_KEY"' : 'curl -fsS'
  const post = (path, body) => `${curl} ${url}${path} -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`
  const pawl = (words) => `npx pawl ${words} --server ${url}`
  return `
The dashboard: ${url}

Try next, in a second terminal in this folder (Ctrl-C here ends everything in good order)${needsKey ? ', with the same PAWL_API_KEY' : ''}:

    # watch it live: progress, the queue, results
    ${pawl('watch')}

    # accept a job, and see the newest ones
    ${post('/api/jobs', { type: 'story', params: { genre: 'gothic' }, priority: 5 })}
    ${curl} '${url}/api/jobs?limit=3'
    ${pawl('jobs list --limit 10')}

    # why does this one wait? And one that needed the busy model: be quick, or this says how it ended
    ${pawl(`why ${dependent}`)}
    ${curl} ${url}/api/jobs/${dependent}/why
    ${pawl(`why ${research}`)}

    # one that fails twice, is retried, and succeeds: follow it to its end
    ${pawl('enqueue flaky --wait')}

    # cancel one that waits
    ${curl} -X POST ${url}/api/jobs/${newsletter}/cancel

    # every hour from now on, and when that will be
    ${post('/api/schedules', { name: 'hourly tides', type: 'research', param_overrides: { topic: 'tides' }, cron: '0 * * * *' })}
    ${pawl('schedules list')}

    # now, before the queue, and with the result as the answer
    ${post('/api/direct/notify', { params: { text: 'Dinner!' } })}
    ${pawl("run notify -p text='Dinner!'")}

    # the history, and how everything stands
    ${pawl('runs list --limit 10')}
    ${pawl('status')}
`
}
