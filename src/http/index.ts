export type { Problem } from './problems.ts'
