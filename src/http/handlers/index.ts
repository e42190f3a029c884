import { directRoutes } from './direct.ts'
import { failureRoutes } from './failures.ts'
import type { Route } from './handler.ts'
import { groupRoutes } from './job-groups.ts'
import { runRoutes } from './job-runs.ts'
import { templateRoutes } from './job-templates.ts'
import { jobRoutes } from './jobs.ts'
import { keyRoutes } from './keys.ts'
import { operationRoutes } from './operations.ts'
import { schedulerRoutes } from './scheduler.ts'
import { scheduleRoutes } from './schedules.ts'
import { sessionRoutes } from './sessions.ts'
import { storeRoutes } from './store.ts'
import { webhookRoutes } from './webhooks.ts'

/** Everything that the API can be asked, with what answers it. */
export const routes: readonly Route[] = [
  ...jobRoutes,
  ...runRoutes,
  ...failureRoutes,
  ...templateRoutes,
  ...scheduleRoutes,
  ...groupRoutes,
  ...directRoutes,
  ...operationRoutes,
  ...webhookRoutes,
  ...schedulerRoutes,
  ...storeRoutes,
  ...keyRoutes,
  ...sessionRoutes,
]
