import * as direct from './direct.ts'
import * as failures from './failures.ts'
import * as groups from './job-groups.ts'
import * as runs from './job-runs.ts'
import * as templates from './job-templates.ts'
import * as jobs from './jobs.ts'
import * as keys from './keys.ts'
import * as operations from './operations.ts'
import * as scheduler from './scheduler.ts'
import * as schedules from './schedules.ts'
import * as sessions from './sessions.ts'
import * as store from './store.ts'
import * as webhooks from './webhooks.ts'

/** Everything that the API can be asked. */
export const endpoints = {
  ...jobs,
  ...runs,
  ...failures,
  ...templates,
  ...schedules,
  ...groups,
  ...direct,
  ...operations,
  ...webhooks,
  ...scheduler,
  ...store,
  ...keys,
  ...sessions,
}
