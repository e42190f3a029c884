import type { Route } from './handler.ts'
import { jobRoutes } from './jobs.ts'

export const routes: readonly Route[] = [...jobRoutes]
